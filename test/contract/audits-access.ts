import assert from 'node:assert/strict'
import { type Audit, assertError, BASE, DAY_MS, expectStatus, json } from './world.ts'

/** Every protected endpoint with its scope; null if any valid credential suffices. */
const PROTECTED: readonly (readonly [method: string, path: string, scope: string | null])[] = [
  ['POST', '/files', 'files:write'],
  ['POST', '/files/', 'files:write'],
  ['POST', '/files/directory', 'files:write'],
  ['POST', '/files/directory-dag', 'files:write'],
  ['POST', '/files/pin/bafkqaaa', 'files:write'],
  ['DELETE', '/files/remove/bafkqaaa', 'files:delete'],
  ['GET', '/users/me/uploads', 'files:read'],
  ['DELETE', '/users/me/uploads/bafkqaaa', 'files:delete'],
  ['GET', '/users/me/clusters', 'cluster:read'],
  ['GET', '/users/me', null],
  ['GET', '/tokens/list', null],
  ['POST', '/tokens/generate', null],
  ['POST', '/tokens/revoke', null],
  ['DELETE', '/tokens/revoke/none', null],
  ['POST', '/jobs', 'files:delete'], // feature: bulk
  ['POST', '/jobs/edits', 'files:write'], // feature: bulk
  ['GET', '/jobs', 'files:read'], // feature: bulk
  ['GET', '/jobs/none', 'files:read'], // feature: bulk
  ['POST', '/jobs/none/undo', 'files:write'], // feature: bulk
]

const ALL = ['files:read', 'files:write', 'files:delete', 'cluster:read']

/** Credentials, scopes and allowlists. */
export const accessAudits: readonly Audit[] = [
  {
    id: 'access.missing',
    name: 'MUST answer 401 with WWW-Authenticate on protected endpoints without a credential',
    async run({ client }) {
      for (const [method, path] of PROTECTED) {
        const answer = await client.request(method, BASE + path)
        assertError(answer, 401, 'INVALID_API_KEY')
        assert.match(answer.header('www-authenticate') ?? '', /^Bearer/)
      }
    },
  },
  {
    id: 'access.invalid',
    name: 'MUST answer 401 INVALID_API_KEY to an invalid credential',
    async run({ client, actor }) {
      const { secret } = await actor()
      const bad = ['x', `${secret}x`, secret.slice(0, -1), 'a.b.c', '', 'é']
      for (const value of bad.filter(text => /^[\x20-\x7e]*$/.test(text))) {
        for (const headers of [
          { authorization: `Bearer ${value}` },
          { 'x-api-key': value },
          { authorization: value },
        ]) {
          assertError(await client.request('GET', `${BASE}/users/me`, { headers }), 401, 'INVALID_API_KEY')
        }
      }
      const basic = { authorization: `Basic ${Buffer.from(`x:${secret}`).toString('base64')}` }
      assertError(await client.request('GET', `${BASE}/users/me`, { headers: basic }), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'access.headers',
    name: 'MUST accept keys in both headers, and use the first valid one',
    async run({ client, actor }) {
      const one = await actor()
      const two = await actor()
      const cases: [Record<string, string>, string][] = [
        [{ authorization: `Bearer ${one.secret}` }, one.id],
        [{ authorization: `bearer ${one.secret}` }, one.id],
        [{ authorization: `BEARER  ${one.secret}` }, one.id],
        [{ 'x-api-key': one.secret }, one.id],
        [{ authorization: `Bearer ${one.secret}`, 'x-api-key': one.secret }, one.id],
        [{ authorization: 'Bearer nonsense', 'x-api-key': one.secret }, one.id],
        [{ authorization: `Bearer ${one.secret}`, 'x-api-key': 'nonsense' }, one.id],
        [{ authorization: `Bearer ${one.secret}`, 'x-api-key': two.secret }, one.id],
      ]
      for (const [headers, id] of cases) {
        const answer = await expectStatus(client.request('GET', `${BASE}/users/me`, { headers }), 200)
        assert.equal(answer.json.id, id)
      }
    },
  },
  {
    id: 'access.request-source',
    name: 'MUST ignore X-Request-Source in decisions about access',
    async run({ client, actor }) {
      const account = await actor()
      const headers = { 'x-request-source': 'web' }
      await expectStatus(account.request('GET', `${BASE}/users/me`, { headers }), 200)
      assertError(await client.request('GET', `${BASE}/users/me`, { headers }), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'access.scopes',
    name: 'MUST check the scope first, and name it in 403 missing_scope',
    async run({ client, actor }) {
      const account = await actor()
      for (const scope of ALL) {
        const others = ALL.filter(other => other !== scope)
        const secret = await account.key({ name: `without-${scope.replace(':', '-')}`, scopes: others })
        for (const [method, path, needed] of PROTECTED) {
          const answer = await client.request(method, BASE + path, { headers: { 'x-api-key': secret } })
          if (needed === scope) {
            assert.equal(assertError(answer, 403, 'missing_scope').required, scope)
          } else {
            assert.notEqual(answer.json.code, 'missing_scope', `${method} ${path} with ${others}`)
            assert.notEqual(answer.status, 401)
          }
        }
      }
    },
  },
  {
    id: 'access.disabled',
    name: 'MUST answer 403 account_disabled to keys of a disabled account',
    async run({ actor, disable }) {
      const account = await actor()
      await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
      await disable(account)
      assertError(await account.request('GET', `${BASE}/users/me`), 403, 'account_disabled')
    },
  },
  {
    id: 'access.allowlist',
    name: "MUST answer 403 IP_NOT_ALLOWED outside a key's allowlist",
    async run({ client, actor }) {
      const account = await actor()
      const elsewhere = await account.key({ name: 'elsewhere', ipAllowlist: ['10.1.2.3', '192.168.0.0/16'] })
      const here = await account.key({ name: 'here', ipAllowlist: ['127.0.0.0/8'] })
      const get = (secret: string) => client.request('GET', `${BASE}/users/me`, { headers: { 'x-api-key': secret } })
      assertError(await get(elsewhere), 403, 'IP_NOT_ALLOWED')
      await expectStatus(get(here), 200)
    },
  },
  {
    id: 'access.expired-key',
    name: 'MUST answer 401 INVALID_API_KEY to a key from its expiry on',
    async run({ client, actor, advance }) {
      const account = await actor()
      const options = json({ name: 'a-day', expiresInDays: 1 })
      const made = await expectStatus(account.request('POST', `${BASE}/tokens/generate`, options), 201)
      const headers = { 'x-api-key': made.json.token }
      await advance(DAY_MS - 1)
      await expectStatus(client.request('GET', `${BASE}/users/me`, { headers }), 200)
      await advance(1)
      assertError(await client.request('GET', `${BASE}/users/me`, { headers }), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'access.me',
    name: 'MUST return account, plan as a string and number of clusters',
    async run({ actor }) {
      const account = await actor('free')
      const { json: me } = await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
      assert.equal(me.id, account.id)
      assert.match(me.email, /@/)
      assert.equal(me.username, me.email)
      assert.equal(me.plan, 'free')
      assert.equal(me.planDetails.timelock, false)
      assert.equal(me.clusters, 1)
      assert.deepEqual(me.usage, { pins: 0, storedBytes: 0, keptBytes: 0 })
      assert.equal(new Date(me.createdAt).toISOString(), me.createdAt)
      assert.equal(me.role, 'user')
    },
  },
]
