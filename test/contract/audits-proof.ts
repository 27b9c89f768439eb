import assert from 'node:assert/strict'
import { PASSWORD, person, post } from './audits-auth.ts'
import { codeAt, protect } from './audits-second-factor.ts'
import { type Actor, type Answer, type Audit, assertError, BASE, expectStatus, json, type World } from './world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const URL = 'https://hooks.example.org/'

function ask(world: World, token: string, method: string, path: string, body?: object): Promise<Answer> {
  const { headers, ...rest } = body === undefined ? { headers: {} } : json(body)
  return world.client.request(method, BASE + path, {
    ...rest,
    headers: { ...headers, authorization: `Bearer ${token}` },
  })
}

async function keptSession(world: World, { email }: Actor): Promise<string> {
  const body = { email, password: PASSWORD, keep: true }
  return (await expectStatus(post(world, '/auth/login', body), 200)).json.token
}

async function keptKey(world: World, secret: string): Promise<string> {
  return (await expectStatus(ask(world, secret, 'POST', '/tokens/console'), 201)).json.token
}

function prove(world: World, token: string, proof: object): Promise<Answer> {
  return ask(world, token, 'POST', '/auth/proof', proof)
}

/** Requests that make or change a credential. `session` marks those that only a session may make. */
const MAKES: ReadonlyArray<[method: string, path: string, body: object, only?: 'session']> = [
  ['POST', '/tokens/generate', { name: 'made' }],
  ['POST', '/webhooks', { url: URL }], // feature: webhooks
  ['PUT', '/users/me', { email: 'another@example.org' }, 'session'],
  ['POST', '/auth/2fa/setup', {}, 'session'],
]

async function assertAsked(world: World, token: string, by: 'key' | 'password' | 'provider'): Promise<void> {
  for (const [method, path, body, only] of MAKES) {
    if (by === 'key' && only === 'session') continue
    const answer = await ask(world, token, method, path, body)
    assert.equal(assertError(answer, 403, 'proof_required').proof, by, path)
  }
}

/** Kept sign-ins make what outlives them only after a recent proof. */
export const proofAudits: readonly Audit[] = [
  {
    id: 'proof.session',
    name: 'MUST ask a kept session for a proof, 15 minutes after the last one',
    async run(world) {
      const account = await person(world)
      const kept = await keptSession(world, account)
      await world.advance(14 * MINUTE_MS)
      await expectStatus(ask(world, kept, 'POST', '/tokens/generate', { name: 'early' }), 201)
      await world.advance(2 * MINUTE_MS)
      await assertAsked(world, kept, 'password')
      // Everything else goes on.
      await expectStatus(ask(world, kept, 'POST', '/tokens/generate', { maxUses: 1 }), 201)
      await expectStatus(ask(world, kept, 'PUT', '/users/me', { name: 'Ada' }), 200)
      await expectStatus(ask(world, kept, 'POST', '/tokens/revoke', { name: 'early' }), 200)
      assertError(await ask(world, kept, 'POST', '/webhooks', { url: 7 }), 400, 'VALIDATION') // feature: webhooks
      for (const wrong of [{ password: 'wrong' }, { password: '' }, { key: account.secret }, {}, { secret: 'x' }]) {
        assertError(await prove(world, kept, wrong), 400, 'VALIDATION')
      }
      await assertAsked(world, kept, 'password')
      const { json: proved } = await expectStatus(prove(world, kept, { password: PASSWORD }), 200)
      assert.equal(proved.until, new Date(world.now() + 15 * MINUTE_MS).toISOString())
      await expectStatus(ask(world, kept, 'POST', '/tokens/generate', { name: 'made' }), 201)
      await expectStatus(ask(world, kept, 'POST', '/webhooks', { url: URL }), 201) // feature: webhooks
      await expectStatus(ask(world, kept, 'POST', '/auth/2fa/setup'), 200)
      await world.advance(16 * MINUTE_MS)
      await assertAsked(world, kept, 'password')
      assertError(await ask(world, kept, 'POST', '/auth/2fa/enable', { code: '123456' }), 403, 'proof_required')
    },
  },
  {
    id: 'proof.others',
    name: 'MUST never ask other sessions and keys',
    async run(world) {
      const account = await person(world)
      const { email } = account
      const session = (await expectStatus(post(world, '/auth/login', { email, password: PASSWORD }), 200)).json.token
      const kept = await keptSession(world, account)
      await world.advance(HOUR_MS)
      await expectStatus(ask(world, session, 'POST', '/tokens/generate', { name: 'late' }), 201)
      await expectStatus(ask(world, session, 'POST', '/webhooks', { url: URL }), 201) // feature: webhooks
      await expectStatus(ask(world, account.secret, 'POST', '/tokens/generate', { name: 'by key' }), 201)
      assertError(await prove(world, session, { password: PASSWORD }), 409, 'CONFLICT')
      assertError(await prove(world, account.secret, { key: account.secret }), 409, 'CONFLICT')
      // The proof of one session is none of another.
      await expectStatus(prove(world, await keptSession(world, account), { password: PASSWORD }), 200)
      await assertAsked(world, kept, 'password')
    },
  },
  {
    id: 'proof.key',
    name: 'MUST ask a key that keeps a sign-in for its own key, and let what it makes outlive it',
    async run(world) {
      const account = await world.actor()
      const scopes = ['files:read', 'files:write', 'cluster:read']
      const parent = await account.key({ name: 'used', scopes, ipAllowlist: ['127.0.0.0/8', '::1'], expiresInDays: 9 })
      const other = await account.key({ name: 'other', scopes })
      const kept = await keptKey(world, parent)
      await world.advance(16 * MINUTE_MS)
      await assertAsked(world, kept, 'key')
      const wide = { name: 'wide', scopes: ['files:delete'] }
      assertError(await ask(world, kept, 'POST', '/tokens/generate', wide), 403, 'missing_scope')
      for (const key of [other, kept, 'hf_nothing']) {
        assertError(await prove(world, kept, { key }), 400, 'VALIDATION', 'key')
      }
      const long = { name: 'long', scopes, expiresInDays: 10 }
      const week = { name: 'week', scopes, expiresInDays: 7 }
      await expectStatus(ask(world, kept, 'POST', '/tokens/generate', { maxUses: 1, name: 'upload' }), 201)
      await expectStatus(prove(world, kept, { key: ` ${parent}` }), 200)
      assertError(await ask(world, kept, 'POST', '/tokens/generate', wide), 403, 'missing_scope')
      assertError(await ask(world, kept, 'POST', '/tokens/generate', long), 400, 'VALIDATION', 'expiresInDays')
      const { json: made } = await expectStatus(ask(world, kept, 'POST', '/tokens/generate', week), 201)
      await expectStatus(ask(world, kept, 'POST', '/auth/logout'), 200)
      await expectStatus(ask(world, made.token, 'GET', '/users/me'), 200)
      const { json: keys } = await expectStatus(account.request('GET', `${BASE}/tokens/list`), 200)
      const row = keys.find((key: { name: string }) => key.name === 'week')
      assert.deepEqual([row.parent, row.ipAllowlist], ['used', ['127.0.0.0/8', '::1']])
      // Its keys go with the key that signed in.
      await expectStatus(account.request('POST', `${BASE}/tokens/revoke`, json({ name: 'used' })), 200)
      assertError(await ask(world, made.token, 'GET', '/users/me'), 401, 'INVALID_API_KEY')
      await world.advance(HOUR_MS)
    },
  },
  {
    id: 'proof.second-factor',
    name: 'MUST ask for the second factor with the password',
    async run(world) {
      const account = await person(world)
      const { codes, secret } = await protect(world, account)
      const { email } = account
      const login = await expectStatus(post(world, '/auth/login', { email, password: PASSWORD, keep: true }), 200)
      const { temporaryToken } = login.json
      const given = { temporaryToken, code: codes[0], keep: true }
      const { token } = (await expectStatus(post(world, '/auth/2fa/verify-login', given), 200)).json
      const create = (code: string | undefined) =>
        ask(world, token, 'POST', '/tokens/generate', { name: 'made', code, totpCode: code })
      await world.advance(16 * MINUTE_MS)
      // The proof comes first, and the code is not used up.
      assertError(await create(codes[1]), 403, 'proof_required')
      assertError(await prove(world, token, { password: PASSWORD }), 400, '2fa_required')
      assertError(await prove(world, token, { password: PASSWORD, code: '000000' }), 400, '2fa_invalid')
      assertError(await prove(world, token, { password: 'wrong', code: codes[2] }), 400, 'VALIDATION', 'password')
      assertError(await create(codes[1]), 403, 'proof_required')
      await expectStatus(prove(world, token, { password: PASSWORD, code: codeAt(secret, world.now()) }), 200)
      assertError(await create(undefined), 400, '2fa_required')
      await expectStatus(create(codes[1]), 201)
    },
  },
  {
    id: 'proof.provider',
    name: 'MUST ask the provider again for a session that began there',
    async run(world) {
      const finish = (identity: object) => ({ secret: 'of the tab', answer: JSON.stringify(identity) })
      const ada = { subject: 'ada of proofs', email: 'ada.of.proofs@provider.example' }
      const signedIn = post(world, '/auth/provider/finish', { ...finish(ada), keep: true })
      const { token } = (await expectStatus(signedIn, 200)).json
      await expectStatus(ask(world, token, 'POST', '/tokens/generate', { name: 'early' }), 201)
      await world.advance(16 * MINUTE_MS)
      await assertAsked(world, token, 'provider')
      assertError(await prove(world, token, finish({ subject: 'bob of proofs' })), 400, 'VALIDATION', 'answer')
      assertError(await prove(world, token, { secret: 'x', answer: '?code=1&state=2' }), 400, 'VALIDATION', 'answer')
      assertError(await prove(world, token, { password: PASSWORD }), 400, 'VALIDATION', 'password')
      const { json: started } = await expectStatus(post(world, '/auth/provider/start', { proof: true }), 200)
      assert.match(started.url, /again/)
      await assertAsked(world, token, 'provider')
      await expectStatus(prove(world, token, finish(ada)), 200)
      await expectStatus(ask(world, token, 'POST', '/tokens/generate', { name: 'made' }), 201)
      const other = (await expectStatus(post(world, '/auth/provider/finish', finish(ada)), 200)).json.token
      await world.advance(20 * MINUTE_MS)
      await expectStatus(ask(world, other, 'POST', '/tokens/generate', { name: 'late' }), 201)
    },
  },
]
