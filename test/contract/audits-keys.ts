import assert from 'node:assert/strict'
import { type Actor, type Answer, type Audit, assertError, BASE, DAY_MS, expectStatus, json } from './world.ts'

function generate(account: Actor, body: unknown): Promise<Answer> {
  return account.request('POST', `${BASE}/tokens/generate`, json(body))
}

/** Creating, listing and revoking API keys. */
export const keyAudits: readonly Audit[] = [
  {
    id: 'keys.generate',
    name: 'MUST answer 201 with a working secret, default scopes and no expiry',
    async run({ client, actor }) {
      const account = await actor()
      const { json: made } = await expectStatus(generate(account, { name: 'ci', label: 'for CI' }), 201)
      assert.deepEqual(Object.keys(made).toSorted(), ['createdAt', 'expiresAt', 'label', 'name', 'scopes', 'token'])
      assert.equal(made.name, 'ci')
      assert.equal(made.label, 'for CI')
      assert.equal(made.expiresAt, null)
      assert.deepEqual(made.scopes.toSorted(), ['cluster:read', 'files:read', 'files:write'])
      assert.ok(!made.token.includes('.'))
      await expectStatus(client.request('GET', `${BASE}/users/me`, { headers: { 'x-api-key': made.token } }), 200)
    },
  },
  {
    id: 'keys.scopes',
    name: 'MUST give a key the requested scopes, or those of legacy permissions',
    async run({ actor }) {
      const account = await actor()
      const all = ['cluster:read', 'files:delete', 'files:read', 'files:write']
      const cases: [object, string[]][] = [
        [{ scopes: ['files:delete'] }, ['files:delete']],
        [{ scopes: ['files:read', 'files:read'] }, ['files:read']],
        [{ permissions: ['read'] }, ['cluster:read', 'files:read']],
        [{ permissions: ['write'] }, ['files:write']],
        [{ permissions: ['admin'] }, all],
        [{ scopes: ['files:read'], permissions: ['admin'] }, ['files:read']],
      ]
      for (const [index, [wish, scopes]] of cases.entries()) {
        const { json: made } = await expectStatus(generate(account, { name: `key ${index}`, ...wish }), 201)
        assert.deepEqual(made.scopes.toSorted(), scopes)
      }
    },
  },
  {
    id: 'keys.expiry',
    name: 'MUST treat 0 days as no expiry, and return the expiry otherwise',
    async run({ actor, now }) {
      const account = await actor()
      assert.equal((await generate(account, { name: 'zero', expiresInDays: 0 })).json.expiresAt, null)
      const { json: made } = await generate(account, { name: 'thirty', expiresInDays: 30 })
      assert.equal(made.expiresAt, new Date(now() + 30 * DAY_MS).toISOString())
    },
  },
  {
    id: 'keys.invalid',
    name: 'MUST refuse invalid fields with 400 and name the field',
    async run({ actor }) {
      const account = await actor()
      const cases: [unknown, string][] = [
        [{}, 'name'],
        [{ name: '' }, 'name'],
        [{ name: 5 }, 'name'],
        [{ name: 'a/b' }, 'name'],
        [{ name: 'x'.repeat(65) }, 'name'],
        [{ name: 'line\nbreak' }, 'name'],
        [{ name: 'k', scopes: 'files:read' }, 'scopes'],
        [{ name: 'k', scopes: ['files:everything'] }, 'scopes'],
        [{ name: 'k', permissions: ['root'] }, 'permissions'],
        [{ name: 'k', expiresInDays: -1 }, 'expiresInDays'],
        [{ name: 'k', expiresInDays: '7' }, 'expiresInDays'],
        [{ name: 'k', ipAllowlist: ['nowhere'] }, 'ipAllowlist'],
        [{ name: 'k', label: {} }, 'label'],
        [{ name: 'k', scopes: Array(40_000).fill('files:read') }, 'scopes'],
        [{ name: 'k', scopes: ['x'.repeat(400_000)] }, 'scopes'],
        [{ name: 'k', ipAllowlist: Array(101).fill('10.0.0.1') }, 'ipAllowlist'],
        [{ name: 'k', label: 'x'.repeat(400_000) }, 'label'],
      ]
      for (const [body, field] of cases) assertError(await generate(account, body), 400, 'VALIDATION', field)
    },
  },
  {
    id: 'keys.cap',
    name: "MUST refuse live keys above the plan's limit with 403 QUOTA_EXCEEDED",
    async run({ actor }) {
      const account = await actor()
      for (let i = 1; i < 100; i++) await account.key({ name: `k${i}`, scopes: ['files:read'] })
      assertError(await generate(account, { name: 'more' }), 403, 'QUOTA_EXCEEDED')
      await expectStatus(account.request('DELETE', `${BASE}/tokens/revoke/k1`), 200)
      await expectStatus(generate(account, { name: 'more' }), 201)
    },
  },
  {
    id: 'keys.parent',
    name: "MUST show a key's parent, and revoke all keys made with it",
    async run({ client, actor }) {
      const account = await actor()
      const make = async (secret: string, name: string): Promise<string> => {
        const { headers, body } = json({ name, scopes: ['files:read'] })
        const asked = client.request('POST', `${BASE}/tokens/generate`, {
          body: body ?? '',
          headers: { ...headers, 'x-api-key': secret },
        })
        return (await expectStatus(asked, 201)).json.token
      }
      const child = await make(account.secret, 'child')
      const grandchild = await make(child, 'grandchild')
      const { json: listed } = await account.request('GET', `${BASE}/tokens/list`)
      const parents = listed.map(({ name, parent }: { name: string; parent: string | null }) => [name, parent])
      assert.deepEqual(parents, [
        ['main', null],
        ['child', 'main'],
        ['grandchild', 'child'],
      ])
      await expectStatus(account.request('DELETE', `${BASE}/tokens/revoke/child`), 200)
      for (const secret of [child, grandchild]) {
        const asked = await client.request('GET', `${BASE}/users/me`, { headers: { 'x-api-key': secret } })
        assertError(asked, 401, 'INVALID_API_KEY')
      }
      await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
    },
  },
  {
    id: 'keys.duplicate',
    name: "MUST refuse a live key's name with 409 until it is revoked",
    async run({ actor }) {
      const account = await actor()
      await expectStatus(generate(account, { name: 'twice' }), 201)
      assertError(await generate(account, { name: 'twice' }), 409, 'CONFLICT', 'name')
      await expectStatus(account.request('DELETE', `${BASE}/tokens/revoke/twice`), 200)
      await expectStatus(generate(account, { name: 'twice' }), 201)
    },
  },
  {
    id: 'keys.subset',
    name: 'MUST refuse to create a key with more scopes: 403 missing_scope',
    async run({ client, actor }) {
      const account = await actor()
      const secret = await account.key({ name: 'lesser', scopes: ['files:read'] })
      const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
      const attempt = (scopes: string[]) =>
        client.request('POST', `${BASE}/tokens/generate`, { headers, body: JSON.stringify({ name: 'child', scopes }) })
      const refused = assertError(await attempt(['files:read', 'files:delete']), 403, 'missing_scope')
      assert.equal(refused.required, 'files:delete')
      await expectStatus(attempt(['files:read']), 201)
    },
  },
  {
    id: 'keys.list',
    name: "MUST list only the account's keys, as an array without secrets",
    async run({ actor }) {
      const account = await actor()
      await (await actor()).key({ name: 'of somebody else' })
      const { json: made } = await generate(account, { name: 'listed', permissions: ['read'] })
      const answer = await expectStatus(account.request('GET', `${BASE}/tokens/list`), 200)
      assert.ok(Array.isArray(answer.json))
      assert.deepEqual(answer.json.map((key: { name: string }) => key.name).toSorted(), ['listed', 'main'])
      const listed = answer.json.find((key: { name: string }) => key.name === 'listed')
      const fields = [
        'createdAt',
        'expiresAt',
        'ipAllowlist',
        'label',
        'lastUsed',
        'name',
        'parent',
        'permissions',
        'prefix',
        'scopes',
        'upload',
        'uses',
      ]
      assert.deepEqual(Object.keys(listed).toSorted(), fields)
      assert.deepEqual(listed.permissions, ['read'])
      assert.equal(listed.lastUsed, null)
      const text = answer.body.toString()
      assert.ok(!text.includes(made.token) && !text.includes(account.secret))
    },
  },
  {
    id: 'keys.revoke',
    name: 'MUST revoke by DELETE or POST, and refuse the key from then on',
    async run({ client, actor }) {
      const account = await actor()
      const ways = [
        (name: string) => account.request('DELETE', `${BASE}/tokens/revoke/${encodeURIComponent(name)}`),
        (name: string) => account.request('DELETE', `${BASE}/tokens/revoke/${encodeURIComponent(name)}/`, json({})),
        (name: string) => account.request('POST', `${BASE}/tokens/revoke`, json({ name, totpCode: '000000' })),
      ]
      for (const [index, revoke] of ways.entries()) {
        const { json: made } = await expectStatus(generate(account, { name: `to go, nº ${index}` }), 201)
        const headers = { 'x-api-key': made.token }
        await expectStatus(client.request('GET', `${BASE}/users/me`, { headers }), 200)
        const answer = await expectStatus(revoke(made.name), 200)
        assert.equal(answer.json.name, made.name)
        assertError(await client.request('GET', `${BASE}/users/me`, { headers }), 401, 'INVALID_API_KEY')
        assertError(await revoke(made.name), 404, 'NOT_FOUND')
      }
    },
  },
  {
    id: 'keys.revoke-rights',
    name: 'MUST let a key revoke itself and keys of no more scopes',
    async run({ client, actor }) {
      const account = await actor()
      const stranger = await actor()
      const secret = await account.key({ name: 'small', scopes: ['files:read'] })
      await account.key({ name: 'as-small', scopes: ['files:read'] })
      const revoke = (name: string) =>
        client.request('DELETE', `${BASE}/tokens/revoke/${name}`, { headers: { 'x-api-key': secret } })
      assertError(await revoke('main'), 403, 'missing_scope')
      assertError(await stranger.request('DELETE', `${BASE}/tokens/revoke/small`), 404, 'NOT_FOUND')
      await expectStatus(revoke('as-small'), 200)
      await expectStatus(revoke('small'), 200)
      assertError(await revoke('small'), 401, 'INVALID_API_KEY')
    },
  },
]
