import assert from 'node:assert/strict'
import { type Audit, assertError, BASE, expectStatus, json } from './world.ts'

/** Behaviour of every answer, whatever the endpoint. */
export const mannerAudits: readonly Audit[] = [
  {
    id: 'manners.about',
    name: 'MUST return name and version at the base without credentials',
    async run({ client }) {
      for (const path of [BASE, `${BASE}/`]) {
        const answer = await expectStatus(client.request('GET', path), 200)
        assert.equal(answer.json.name, 'holdfast')
        assert.match(answer.json.version, /^\d+\.\d+\.\d+/)
      }
    },
  },
  {
    id: 'manners.health',
    name: 'MUST answer /health and /ready without credentials, with and without the base',
    async run({ client }) {
      for (const path of ['/health', '/ready'].flatMap(path => [path, `${BASE}${path}`, `${BASE}${path}/`])) {
        assert.deepEqual((await expectStatus(client.request('GET', path), 200)).json, { status: 'ok' })
      }
    },
  },
  {
    id: 'manners.head',
    name: 'MUST answer HEAD wherever it answers GET, without a body',
    async run({ client, actor }) {
      const account = await actor()
      for (const path of ['/health', `${BASE}/users/me`, `${BASE}/users/me/uploads`]) {
        const answer = await expectStatus(account.request('HEAD', path), 200)
        assert.equal(answer.body.length, 0)
        assert.ok(Number(answer.header('content-length')) > 0)
        assert.match(answer.header('content-type') ?? '', /json/)
      }
      const refused = await expectStatus(client.request('HEAD', `${BASE}/users/me`), 401)
      assert.equal(refused.body.length, 0)
    },
  },
  {
    id: 'manners.gone',
    name: 'MUST answer 410 under older versions, whatever the method',
    async run({ client }) {
      for (const path of ['/api/v1', '/api/v2', '/api/v1/files', '/api/v2/users/me/uploads/']) {
        for (const method of ['GET', 'POST', 'DELETE']) assertError(await client.request(method, path), 410, 'GONE')
      }
    },
  },
  {
    id: 'manners.unknown-route',
    name: 'MUST answer an unknown path with a JSON 404, with or without credentials',
    async run({ client, actor }) {
      const account = await actor()
      for (const path of ['/api', '/nothing', `${BASE}/nothing`, `${BASE}/users/me/nothing`, `${BASE}/files/x/y`]) {
        assertError(await client.request('GET', path), 404, 'NOT_FOUND')
        assertError(await account.request('POST', path), 404, 'NOT_FOUND')
      }
    },
  },
  {
    id: 'manners.front-page',
    name: 'MUST serve a front page whose links work, and an icon',
    async run({ client }) {
      const page = await expectStatus(client.request('GET', '/'), 200)
      assert.match(page.header('content-type') ?? '', /^text\/html/)
      assert.match(page.header('content-security-policy') ?? '', /^default-src 'none'/)
      const links = [...page.body.toString().matchAll(/href="([^"]+)"/g)].map(([, link]) => link ?? '')
      assert.ok(links.includes('api/v3/docs'))
      for (const link of links) {
        assert.ok(!link.startsWith('/'), 'links hold below a prefix')
        await expectStatus(client.request('GET', `/${link}`), 200)
      }
      const icon = await expectStatus(client.request('GET', '/favicon.ico'), 200)
      assert.equal(icon.header('content-type'), 'image/svg+xml')
      assert.match(icon.body.toString(), /^<svg /)
    },
  },
  {
    id: 'manners.wrong-method',
    name: 'MUST answer a wrong method with 405 and the right ones in Allow',
    async run({ client }) {
      const cases = [
        ['GET', '/files', 'POST'],
        ['PUT', '/files/pin/bafy', 'POST'],
        ['GET', '/files/remove/bafy', 'DELETE'],
        ['POST', '/users/me/clusters', 'GET'],
        ['PATCH', '/tokens/list', 'GET'],
      ] as const
      for (const [method, path, allowed] of cases) {
        const answer = await client.request(method, BASE + path)
        assertError(answer, 405, 'METHOD_NOT_ALLOWED')
        assert.ok((answer.header('allow') ?? '').split(', ').includes(allowed), answer.header('allow'))
      }
    },
  },
  {
    id: 'manners.request-id',
    name: 'MUST give every answer its own request id',
    async run({ client }) {
      const ids = new Set<string | undefined>()
      for (const path of [BASE, '/health', '/nothing', `${BASE}/users/me`, '/api/v1']) {
        ids.add((await client.request('GET', path)).header('x-request-id'))
      }
      assert.equal(ids.size, 5)
      assert.ok(!ids.has(undefined))
    },
  },
  {
    id: 'manners.cors',
    name: 'MUST let any origin read every answer and its rate-limit headers',
    async run({ client, actor }) {
      const account = await actor()
      const answers = [
        await client.request('GET', BASE),
        await client.request('GET', `${BASE}/users/me`),
        await client.request('GET', '/nothing'),
        await account.request('GET', `${BASE}/users/me/uploads`),
      ]
      for (const answer of answers) {
        assert.equal(answer.header('access-control-allow-origin'), '*')
        const exposed = (answer.header('access-control-expose-headers') ?? '').toLowerCase().split(', ')
        for (const name of ['limit', 'remaining', 'reset']) assert.ok(exposed.includes(`x-ratelimit-${name}`))
        assert.ok(exposed.includes('retry-after') && exposed.includes('x-request-id'))
      }
    },
  },
  {
    id: 'manners.preflight',
    name: 'MUST answer a preflight without credentials and allow the headers clients send',
    async run({ client }) {
      const names = ['authorization', 'x-api-key', 'x-request-source', 'x-cluster', 'content-type']
      for (const asked of [names.join(','), undefined]) {
        const headers: Record<string, string> = {
          origin: 'https://app.example',
          'access-control-request-method': 'DELETE',
        }
        if (asked !== undefined) headers['access-control-request-headers'] = asked
        const answer = await expectStatus(client.request('OPTIONS', `${BASE}/files/remove/bafy`, { headers }), 204)
        assert.equal(answer.body.length, 0)
        assert.equal(answer.header('access-control-allow-origin'), '*')
        assert.match(answer.header('access-control-allow-methods') ?? '', /DELETE/)
        const allowed = (answer.header('access-control-allow-headers') ?? '').toLowerCase()
        for (const name of names) assert.ok(allowed.includes(name), name)
      }
    },
  },
  {
    id: 'manners.malformed-json',
    name: 'MUST refuse a body that is no JSON object with 400',
    async run({ actor }) {
      const account = await actor()
      for (const body of ['{', 'nope', '[]', '"text"', '5', Buffer.from([0x22, 0xff, 0x22])]) {
        const options = { headers: { 'content-type': 'application/json' }, body }
        assertError(await account.request('POST', `${BASE}/tokens/generate`, options), 400, 'VALIDATION')
      }
    },
  },
  {
    id: 'manners.unsupported-type',
    name: 'MUST refuse a body of another type with 415',
    async run({ actor }) {
      const account = await actor()
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
        const options = { headers: { 'content-type': type }, body: 'name=x' }
        assertError(await account.request('POST', `${BASE}/tokens/generate`, options), 415, 'UNSUPPORTED_MEDIA_TYPE')
        assertError(await account.request('POST', `${BASE}/files`, options), 415, 'UNSUPPORTED_MEDIA_TYPE')
      }
      assertError(await account.request('POST', `${BASE}/files/directory-dag`, json({})), 415, 'UNSUPPORTED_MEDIA_TYPE')
    },
  },
  {
    id: 'manners.large-json',
    name: 'MUST refuse a JSON body above 1 MiB with 413, announced or not',
    async run({ actor }) {
      const account = await actor()
      const options = json({ name: 'x'.repeat(2 * 1024 * 1024) })
      assertError(await account.request('POST', `${BASE}/tokens/generate`, options), 413, 'REQUEST_TOO_LARGE')
      const chunked = { ...options, chunked: true }
      assertError(await account.request('POST', `${BASE}/tokens/generate`, chunked), 413, 'REQUEST_TOO_LARGE')
    },
  },
  {
    id: 'manners.empty-body',
    name: 'MUST treat an empty JSON body as absent, and accept bodies on DELETE',
    async run({ actor }) {
      const account = await actor()
      const empty = { headers: { 'content-type': 'application/json', 'content-length': '0' } }
      assertError(await account.request('POST', `${BASE}/files/pin/x`, empty), 400, 'INVALID_CID')
      assertError(await account.request('POST', `${BASE}/tokens/generate`, empty), 400, 'VALIDATION', 'name')
      const withBody = json({ totpCode: '123456' })
      assertError(await account.request('DELETE', `${BASE}/files/remove/x`, withBody), 404, 'PIN_NOT_FOUND')
    },
  },
  {
    id: 'manners.percent-encoding',
    name: 'MUST refuse malformed percent-encoding in a path with 400',
    async run({ actor }) {
      const account = await actor()
      assertError(await account.request('DELETE', `${BASE}/tokens/revoke/%zz`), 400, 'VALIDATION')
      assertError(await account.request('POST', `${BASE}/files/pin/%E0%A4`), 400, 'VALIDATION')
    },
  },
]
