import assert from 'node:assert/strict'
import {
  type Actor,
  type Answer,
  type Audit,
  assertError,
  BASE,
  expectStatus,
  fileForm,
  json,
} from '../../contract/world.ts'

/** A host name that never resolves, so that no test contacts the internet. */
const URL = 'https://hook.invalid/told?by=us'

function create(account: Actor, url: unknown = URL): Promise<Answer> {
  return account.request('POST', `${BASE}/webhooks`, json({ url }))
}

/** Webhooks and their deliveries. */
export const webhookAudits: readonly Audit[] = [
  {
    id: 'webhooks.made',
    name: 'MUST show the secret once, list, deliver each transition, and forget on removal',
    async run({ actor }) {
      const account = await actor()
      const { json: made } = await expectStatus(create(account), 201)
      assert.match(made.secret, /^whsec_[\w-]{43}$/)
      const { secret: _, ...shown } = made
      assert.deepEqual({ ...shown, id: '', createdAt: '' }, { id: '', url: URL, createdAt: '', waiting: 0, dropped: 0 })
      assert.deepEqual((await account.request('GET', `${BASE}/webhooks`)).json, { webhooks: [shown] })
      const { json: record } = await expectStatus(account.request('POST', `${BASE}/files`, fileForm('told')), 201)
      const path = `${BASE}/webhooks/${made.id}/deliveries`
      const { json: log } = await expectStatus(account.request('GET', `${path}?limit=1`), 200)
      const [{ event, state }] = log.deliveries
      assert.deepEqual([log.deliveries.length, event, state, log.next], [1, 'pin:created', 'waiting', null])
      assert.ok(record.cid.length > 0)
      assert.equal((await account.request('GET', `${BASE}/webhooks`)).json.webhooks[0].waiting, 1)
      const removed = await expectStatus(account.request('DELETE', `${BASE}/webhooks/${made.id}`), 200)
      assert.deepEqual(removed.json, { removed: true })
      assertError(await account.request('DELETE', `${BASE}/webhooks/${made.id}`), 404, 'NOT_FOUND')
      assertError(await account.request('GET', path), 404, 'NOT_FOUND')
    },
  },
  {
    id: 'webhooks.scopes',
    name: 'MUST require files:read, and remove a webhook with its key',
    async run({ actor, client }) {
      const account = await actor()
      const asKey = async (name: string, scopes: string[]) => {
        const headers = { 'x-api-key': await account.key({ name, scopes }) }
        const { body, headers: type } = json({ url: URL })
        return client.request('POST', `${BASE}/webhooks`, { headers: { ...headers, ...type }, body: body ?? '' })
      }
      for (const scope of ['files:read', 'files:write']) {
        const answer = await asKey(scope, [scope])
        assertError(answer, 403, 'missing_scope')
        assert.equal(answer.json.required, scope === 'files:read' ? 'files:write' : 'files:read')
      }
      await expectStatus(asKey('both', ['files:read', 'files:write']), 201)
      await expectStatus(account.request('DELETE', `${BASE}/tokens/revoke/both`), 200)
      assert.deepEqual((await account.request('GET', `${BASE}/webhooks`)).json, { webhooks: [] })
    },
  },
  {
    id: 'webhooks.invalid',
    name: 'MUST refuse URLs outside the public internet with 400, naming the field',
    async run({ actor }) {
      const account = await actor()
      const wrong = [
        ...['', 'no URL', '/hook', 'ftp://hook.invalid/', 'javascript:alert(1)', 'https://user:word@hook.invalid/'],
        ...['http://127.0.0.1/', 'http://2130706433/', 'http://[::1]/', 'http://localhost:80/', 'http://a.localhost./'],
        ...['http://10.0.0.1/', 'http://169.254.169.254/', 'http://[::ffff:10.0.0.1]/', 'http://[fd00::1]/'],
        ...['https://hook.invalid/#part', `https://hook.invalid/${'x'.repeat(2_048)}`, 5, null, ['https://a.invalid/']],
      ]
      for (const url of wrong) {
        const answer = await create(account, url)
        assertError(answer, 400, 'VALIDATION')
        assert.match(answer.json.message, /\burl\b/, String(url))
      }
      assert.deepEqual((await account.request('GET', `${BASE}/webhooks`)).json, { webhooks: [] })
    },
  },
  {
    id: 'webhooks.bounds',
    name: 'MUST allow ten webhooks for an account, each visible only to it',
    async run({ actor }) {
      const account = await actor()
      const made = await Promise.all(Array.from({ length: 12 }, () => create(account)))
      assert.deepEqual(made.map(({ status }) => status).toSorted(), [...Array<number>(10).fill(201), 403, 403])
      for (const answer of made) if (answer.status === 403) assertError(answer, 403, 'QUOTA_EXCEEDED')
      const id = made.find(({ status }) => status === 201)?.json.id
      const other = await actor()
      assertError(await other.request('DELETE', `${BASE}/webhooks/${id}`), 404, 'NOT_FOUND')
      assertError(await other.request('GET', `${BASE}/webhooks/${id}/deliveries`), 404, 'NOT_FOUND')
      assert.deepEqual((await other.request('GET', `${BASE}/webhooks`)).json, { webhooks: [] })
      assertError(await account.request('GET', `${BASE}/webhooks/${id}/deliveries?limit=0`), 400, 'VALIDATION')
    },
  },
]
