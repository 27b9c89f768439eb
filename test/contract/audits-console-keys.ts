import assert from 'node:assert/strict'
import { person, signIn } from './audits-auth.ts'
import { protect } from './audits-second-factor.ts'
import { type Actor, type Answer, type Audit, assertError, BASE, expectStatus, json, type World } from './world.ts'

const HOUR_MS = 60 * 60 * 1_000

function ask(world: World, secret: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const { headers, ...rest } = body === undefined ? { headers: {} } : json(body)
  return world.client.request(method, BASE + path, { headers: { ...headers, 'x-api-key': secret }, ...rest })
}

/** Makes the key that keeps a sign-in with a key. Returns its secret. */
async function kept(world: World, secret: string): Promise<string> {
  return (await expectStatus(ask(world, secret, 'POST', '/tokens/console'), 201)).json.token
}

async function named(account: Actor, name: string) {
  const { json: keys } = await expectStatus(account.request('GET', `${BASE}/tokens/list`), 200)
  return keys.filter((key: { parent: string | null }) => key.parent === name)
}

/** Keys that keep a sign-in at the console over a reload. */
export const consoleKeyAudits: readonly Audit[] = [
  {
    id: 'keys.console',
    name: 'MUST keep a sign-in with the rights of its key, for twelve hours at most',
    async run(world) {
      const account = await world.actor()
      const parent = await account.key({
        name: 'narrow',
        scopes: ['files:read', 'files:write'],
        ipAllowlist: ['127.0.0.0/8', '::1'],
        expiresInDays: 30,
      })
      const first = await kept(world, parent)
      const [listed, ...others] = await named(account, 'narrow')
      assert.deepEqual(others, [])
      assert.deepEqual(
        [listed.scopes, listed.ipAllowlist],
        [
          ['files:read', 'files:write'],
          ['127.0.0.0/8', '::1'],
        ],
      )
      assert.equal(listed.expiresAt, new Date(world.now() + 12 * HOUR_MS).toISOString())
      await expectStatus(ask(world, first, 'GET', '/users/me'), 200)
      const second = await kept(world, parent)
      await expectStatus(ask(world, first, 'GET', '/users/me'), 200)
      const names: string[] = (await named(account, 'narrow')).map(({ name }: { name: string }) => name)
      assert.equal(new Set(names).size, 2)
      for (const name of names) assert.match(name, /^console-[0-9a-f]+-[0-9a-f]{16}$/)
      for (const name of names) assert.ok(name.length <= 64)
      await world.advance(12 * HOUR_MS)
      for (const token of [first, second]) {
        assertError(await ask(world, token, 'GET', '/users/me'), 401, 'INVALID_API_KEY')
      }
      await expectStatus(ask(world, parent, 'GET', '/users/me'), 200)
    },
  },
  {
    id: 'keys.console-end',
    name: 'MUST end a kept sign-in at the sign-out, and with its key',
    async run(world) {
      const account = await world.actor()
      const parent = await account.key({ name: 'used', scopes: ['files:read', 'files:write'] })
      const one = await kept(world, parent)
      // feature: webhooks
      const url = 'https://hooks.example.org/'
      const { json: hook } = await expectStatus(ask(world, one, 'POST', '/webhooks', { url }), 201)
      // end
      await expectStatus(ask(world, one, 'POST', '/auth/logout'), 200)
      assertError(await ask(world, one, 'GET', '/users/me'), 401, 'INVALID_API_KEY')
      await expectStatus(ask(world, parent, 'POST', '/auth/logout'), 200)
      await expectStatus(ask(world, parent, 'GET', '/users/me'), 200)
      // feature: webhooks
      // A webhook made in the console stays until the key itself goes.
      const hooks = (await expectStatus(account.request('GET', `${BASE}/webhooks`), 200)).json.webhooks
      assert.deepEqual(
        hooks.map(({ id }: { id: string }) => id),
        [hook.id],
      )
      // end
      const two = await kept(world, parent)
      await expectStatus(account.request('POST', `${BASE}/tokens/revoke`, json({ name: 'used' })), 200)
      assertError(await ask(world, two, 'GET', '/users/me'), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'keys.console-most',
    name: 'MUST keep sixteen tabs of a key, and end them together on demand',
    async run(world) {
      const account = await world.actor()
      const parent = await account.key({ name: 'tabs', scopes: ['files:read'] })
      const other = await kept(world, await account.key({ name: 'other', scopes: ['files:read'] }))
      const tokens: string[] = []
      while (tokens.length < 16) tokens.push(await kept(world, parent))
      const [one = '', two = ''] = tokens
      assertError(await ask(world, parent, 'POST', '/tokens/console'), 403, 'QUOTA_EXCEEDED')
      await expectStatus(ask(world, one, 'POST', '/auth/logout'), 200)
      await expectStatus(ask(world, two, 'GET', '/users/me'), 200)
      await kept(world, parent)
      const { json: answer } = await expectStatus(ask(world, two, 'DELETE', '/tokens/console'), 200)
      assert.equal(answer.ended, 16)
      for (const token of tokens) assertError(await ask(world, token, 'GET', '/users/me'), 401, 'INVALID_API_KEY')
      for (const token of [parent, other]) await expectStatus(ask(world, token, 'GET', '/users/me'), 200)
      assert.equal((await expectStatus(ask(world, parent, 'DELETE', '/tokens/console'), 200)).json.ended, 0)
      const { json: upload } = await expectStatus(
        account.request('POST', `${BASE}/tokens/generate`, json({ maxUses: 1 })),
        201,
      )
      assertError(await ask(world, upload.token, 'DELETE', '/tokens/console'), 403, 'missing_scope')
    },
  },
  {
    id: 'keys.console-mint',
    name: 'MUST keep no sign-in for a kept one, a session, an upload token or a second factor',
    async run(world) {
      const account = await person(world)
      const parent = await account.key({ name: 'able', scopes: ['files:read', 'files:write'] })
      const own = await kept(world, parent)
      assertError(await ask(world, own, 'POST', '/tokens/console'), 403, 'missing_scope')
      const { json: upload } = await expectStatus(
        account.request('POST', `${BASE}/tokens/generate`, json({ maxUses: 1 })),
        201,
      )
      assertError(await ask(world, upload.token, 'POST', '/tokens/console'), 403, 'missing_scope')
      const session = await signIn(world, account)
      for (const method of ['POST', 'DELETE']) {
        assertError(await ask(world, session, method, '/tokens/console'), 409, 'CONFLICT')
      }
      await protect(world, account)
      assertError(await ask(world, parent, 'POST', '/tokens/console'), 400, '2fa_required')
      const taken = await account.request('POST', `${BASE}/tokens/generate`, json({ name: 'console-ci' }))
      assert.match(String(assertError(taken, 400, 'VALIDATION').message), /^name /)
    },
  },
]
