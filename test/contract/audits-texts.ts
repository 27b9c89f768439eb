import assert from 'node:assert/strict'
import { type Actor, type Answer, type Audit, assertError, BASE, fileForm, form, json } from './world.ts'

const CID = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
const NUL = '\u0000'
const HALF = '\ud800'

const inQuery = (value: unknown): string => encodeURIComponent(JSON.stringify(value))

/** Requests with a text that not every database can store, and the field that the error must name. */
const FIELDS: ReadonlyArray<(actor: Actor) => Promise<[answer: Answer, field: string]>> = [
  ...[NUL, HALF].flatMap(text => [
    post(`/files/pin/${CID}`, { customName: `a${text}` }, 'customName'),
    post(`/files/pin/${CID}`, { meta: { a: text } }, 'meta.a'),
    post(`/files/pin/${CID}`, { meta: { [`k${text}`]: 'a' } }, 'the key'),
    post(`/files/pin/${CID}`, { cl: text }, 'cl'),
    post(`/files/pin/${CID}`, { origins: [`/dns4/a${text}/tcp/1`] }, 'origins.0'),
    post('/tokens/generate', { name: `a${text}` }, 'name'),
    post('/tokens/generate', { maxUses: 1, cl: `a${text}` }, 'cl'),
    post('/tokens/revoke', { name: `a${text}` }, 'name'),
    post('/webhooks', { url: `https://example.org/${text}` }, 'url'), // feature: webhooks
    post('/auth/login', { email: `a${text}@example.org`, password: 'a password' }, 'email'),
    post('/auth/login', { email: 'a@example.org', password: `a password${text}` }, 'password'),
    get(`/users/me/uploads?meta=${inQuery({ a: text })}`, 'meta.a'),
    get(`/users/me/uploads?meta=${inQuery({ [text]: 'a' })}`, 'the key'),
    upload(fileForm('a', { meta: JSON.stringify({ a: text }) }), 'meta.a'),
  ]),
  ...['q', 'name', 'cid', 'parentCid', 'before', 'after', 'status', 'type', 'sort', 'match'].map(name =>
    get(`/users/me/uploads?${name}=a%00`, name),
  ),
  get(`/status/${CID}?cl=%00`, 'cl'),
  upload(fileForm('a', { cl: NUL }), 'cl'),
  upload(fileForm('a', { timelock: NUL }), 'timelock'),
  upload(form([{ name: 'other', content: NUL }]), 'other'),
]

/** Requests for impossible ids and CIDs. The answer must equal that to an unknown one. */
const UNKNOWN: ReadonlyArray<[method: string, path: string, status: number, code: string, body?: object]> = [
  ['POST', '/files/pin/%00', 400, 'INVALID_CID', {}],
  ['DELETE', '/files/remove/%00', 404, 'PIN_NOT_FOUND'],
  ['DELETE', `/files/remove/${CID}%00`, 404, 'PIN_NOT_FOUND'],
  ['GET', '/status/%00', 404, 'PIN_NOT_FOUND'],
  ['GET', `/allocations/${CID}%00`, 404, 'PIN_NOT_FOUND'],
  ['GET', '/users/me/uploads/dag/%00', 404, 'PIN_NOT_FOUND'],
  ['PUT', '/files/rename/%00', 404, 'NOT_FOUND', { newName: 'a' }],
  ['DELETE', '/tokens/revoke/a%00', 404, 'NOT_FOUND'],
  ['DELETE', '/webhooks/%00', 404, 'NOT_FOUND'], // feature: webhooks
  ['GET', '/webhooks/%00/deliveries', 404, 'NOT_FOUND'], // feature: webhooks
  ['POST', '/auth/2fa/verify-login', 401, 'INVALID_API_KEY', { temporaryToken: NUL, code: '123456' }],
]

/** Texts that not every database can store. */
export const textAudits: Audit[] = [
  {
    id: 'texts.fields',
    name: 'MUST refuse a field with U+0000 or half a surrogate pair by name',
    async run({ actor }) {
      const account = await actor()
      for (const ask of FIELDS) {
        const [answer, field] = await ask(account)
        assertError(answer, 400, 'VALIDATION', field)
      }
      const { json: list } = await account.request('GET', `${BASE}/users/me/uploads`)
      assert.equal(list.total, 0)
    },
  },
  {
    id: 'texts.ids',
    name: 'MUST answer an id or CID with U+0000 as unknown',
    async run({ actor }) {
      const account = await actor()
      for (const [method, path, status, code, body] of UNKNOWN) {
        const answer = await account.request(method, `${BASE}${path}`, body === undefined ? {} : json(body))
        assertError(answer, status, code)
      }
    },
  },
  {
    id: 'texts.public-bodies',
    name: 'MUST refuse a JSON body above 16 KiB where no credential is needed',
    async run({ client }) {
      const body = { email: 'a@example.org', password: 'x'.repeat(3_000) }
      for (const path of ['/auth/login', '/auth/signup', '/auth/2fa/verify-login']) {
        const filled = { ...body, more: Array.from({ length: 5 }, () => 'x'.repeat(3_000)) }
        const answer = await client.request('POST', `${BASE}${path}`, json(filled))
        assertError(answer, 413, 'REQUEST_TOO_LARGE', '16384')
      }
      assertError(await client.request('POST', `${BASE}/auth/login`, json(body)), 401, 'INVALID_API_KEY')
    },
  },
]

function post(path: string, body: object, field: string) {
  return async (actor: Actor): Promise<[Answer, string]> => [
    await actor.request('POST', `${BASE}${path}`, json(body)),
    field,
  ]
}

function get(path: string, field: string) {
  return async (actor: Actor): Promise<[Answer, string]> => [await actor.request('GET', `${BASE}${path}`), field]
}

function upload(options: { headers: Record<string, string>; body: Buffer }, field: string) {
  return async (actor: Actor): Promise<[Answer, string]> => [
    await actor.request('POST', `${BASE}/files`, options),
    field,
  ]
}
