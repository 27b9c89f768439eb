import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { PASSWORD, person, post, signIn } from './audits-auth.ts'
import { type Actor, type Audit, assertError, BASE, expectStatus, json, type World } from './world.ts'

const STEP_MS = 30_000
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Returns the code of RFC 6238 that an authenticator app shows for a secret. */
export function codeAt(secret: string, now: number): string {
  const bits = [...secret].map(letter => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const bytes = Buffer.from((bits.match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeUInt32BE(Math.floor(now / STEP_MS), 4)
  const digest = createHmac('sha1', bytes).update(counter).digest()
  const binary = digest.readUInt32BE((digest[19] ?? 0) & 15) & 0x7fffffff
  return String(binary % 1_000_000).padStart(6, '0')
}

/** Returns a fresh code. It moves the clock by a step, because a code works once. */
async function nextCode(world: World, secret: string): Promise<string> {
  await world.advance(STEP_MS)
  return codeAt(secret, world.now())
}

/** Enables the second factor of an account. */
export async function protect(
  world: World,
  account: Actor,
): Promise<{ secret: string; codes: string[]; token: string }> {
  const token = await signIn(world, account)
  const { json: setup } = await expectStatus(post(world, '/auth/2fa/setup', {}, token), 200)
  const code = await nextCode(world, setup.secret)
  const { json: enabled } = await expectStatus(post(world, '/auth/2fa/enable', { code }, token), 200)
  return { secret: setup.secret, codes: enabled.recoveryCodes, token }
}

async function half(world: World, { email }: Actor): Promise<string> {
  const { json: answer } = await expectStatus(post(world, '/auth/login', { email, password: PASSWORD }), 200)
  assert.deepEqual(Object.keys(answer).toSorted(), ['requires2FA', 'temporaryToken'])
  assert.equal(answer.requires2FA, true)
  return answer.temporaryToken
}

/** Second factor with time-based codes. */
export const secondFactorAudits: readonly Audit[] = [
  {
    id: 'auth.2fa-enrol',
    name: 'MUST enable the second factor in a session, after a valid code',
    async run(world) {
      const account = await person(world)
      const token = await signIn(world, account)
      assertError(await account.request('POST', `${BASE}/auth/2fa/setup`), 403, 'SESSION_REQUIRED')
      assertError(await post(world, '/auth/2fa/enable', { code: '123456' }, token), 409, 'CONFLICT')
      const { json: setup } = await expectStatus(post(world, '/auth/2fa/setup', {}, token), 200)
      assert.match(setup.secret, /^[A-Z2-7]{32}$/)
      const url = new URL(setup.otpauthUrl)
      assert.deepEqual([url.protocol, url.host, url.searchParams.get('secret')], ['otpauth:', 'totp', setup.secret])
      assertError(await post(world, '/auth/2fa/enable', {}, token), 400, '2fa_required')
      const wrong = codeAt(setup.secret, world.now() + 10 * STEP_MS)
      assertError(await post(world, '/auth/2fa/enable', { code: wrong }, token), 400, '2fa_invalid')
      await signIn(world, account)
      const code = Number(await nextCode(world, setup.secret))
      const { json: enabled } = await expectStatus(post(world, '/auth/2fa/enable', { code }, token), 200)
      assert.equal(new Set(enabled.recoveryCodes).size, 10)
      assert.equal((await account.request('GET', `${BASE}/users/me`)).json.twoFactorEnabled, true)
      assertError(await post(world, '/auth/2fa/setup', {}, token), 409, 'CONFLICT')
      assertError(await post(world, '/auth/2fa/enable', { code: wrong }, token), 409, 'CONFLICT')
      await half(world, account)
    },
  },
  {
    id: 'auth.2fa-login',
    name: 'MUST sign in with password and code, each usable once',
    async run(world) {
      const account = await person(world)
      const { secret } = await protect(world, account)
      const verify = (body: object) => post(world, '/auth/2fa/verify-login', body)
      const temporaryToken = await half(world, account)
      const bearer = { authorization: `Bearer ${temporaryToken}` }
      assertError(await world.client.request('GET', `${BASE}/users/me`, { headers: bearer }), 401, 'INVALID_API_KEY')
      assertError(await verify({ temporaryToken }), 400, '2fa_required')
      assertError(await verify({ temporaryToken, code: 'abcdef' }), 400, '2fa_invalid')
      const used = codeAt(secret, world.now())
      assertError(await verify({ temporaryToken, code: used }), 400, '2fa_invalid')
      const code = await nextCode(world, secret)
      const { json: session } = await expectStatus(verify({ temporaryToken, code }), 200)
      assert.deepEqual(Object.keys(session).toSorted(), ['token', 'user'])
      assert.equal(session.user.id, account.id)
      const headers = { authorization: `Bearer ${session.token}` }
      await expectStatus(world.client.request('GET', `${BASE}/users/me`, { headers }), 200)
      const next = await nextCode(world, secret)
      assertError(await verify({ temporaryToken, code: next }), 401, 'INVALID_API_KEY')
      const late = await half(world, account)
      await world.advance(5 * 60_000)
      assertError(
        await verify({ temporaryToken: late, code: await nextCode(world, secret) }),
        401,
        'INVALID_API_KEY',
        'temporaryToken',
      )
    },
  },
  {
    id: 'auth.2fa-drift',
    name: 'MUST accept the codes of the adjacent steps, and no others',
    async run(world) {
      const account = await person(world)
      const { secret } = await protect(world, account)
      await world.advance(10 * STEP_MS)
      const attempt = async (steps: number) => {
        const code = codeAt(secret, world.now() + steps * STEP_MS)
        return post(world, '/auth/2fa/verify-login', { temporaryToken: await half(world, account), code })
      }
      assertError(await attempt(-2), 400, '2fa_invalid')
      assertError(await attempt(2), 400, '2fa_invalid')
      await expectStatus(attempt(-1), 200)
      await expectStatus(attempt(1), 200)
      assertError(await attempt(0), 400, '2fa_invalid')
    },
  },
  {
    id: 'auth.2fa-recovery',
    name: 'MUST accept each recovery code once, in any spelling',
    async run(world) {
      const account = await person(world)
      const { codes } = await protect(world, account)
      const verify = async (code: string) =>
        post(world, '/auth/2fa/verify-login', { temporaryToken: await half(world, account), code })
      const [first = '', second = ''] = codes
      await expectStatus(verify(first), 200)
      assertError(await verify(first), 400, '2fa_invalid')
      await expectStatus(verify(` ${second.replaceAll('-', '').toUpperCase()} `), 200)
    },
  },
  {
    id: 'auth.2fa-guessing',
    name: 'MUST answer 429 after a few wrong codes, even to the right one',
    async run(world) {
      const account = await person(world)
      const { secret } = await protect(world, account)
      const generate = (name: string, totpCode?: string) =>
        account.request('POST', `${BASE}/tokens/generate`, json({ name, totpCode }))
      for (let tries = 0; tries < 5; tries++) assertError(await generate('x', `00000${tries}x`), 400, '2fa_invalid')
      const refused = await generate('x', await nextCode(world, secret))
      const body = assertError(refused, 429, 'RATE_LIMIT')
      assert.equal(refused.header('retry-after'), String(body.retryAfter))
      await world.advance(Number(body.retryAfter) * 1_000)
      await expectStatus(generate('x', codeAt(secret, world.now())), 201)
    },
  },
  {
    id: 'auth.2fa-keys',
    name: 'MUST require a code to create or revoke keys, under both names',
    async run(world) {
      const account = await person(world)
      const { secret } = await protect(world, account)
      const generate = (body: object) => account.request('POST', `${BASE}/tokens/generate`, json(body))
      assertError(await generate({ name: 'one' }), 400, '2fa_required')
      assertError(await generate({ name: 'one', totpCode: '12345x' }), 400, '2fa_invalid')
      assertError(await generate({ name: 'a/b' }), 400, 'VALIDATION', 'name')
      await expectStatus(generate({ name: 'one', totpCode: await nextCode(world, secret) }), 201)
      // A taken name does not use up the code.
      const second = await nextCode(world, secret)
      assertError(await generate({ name: 'one', totpCode: second }), 409, 'CONFLICT')
      await expectStatus(generate({ name: 'two', twoFactorCode: second }), 201)
      await expectStatus(generate({ name: 'three', totpCode: Number(await nextCode(world, secret)) }), 201)

      const revoke = (name: string, body?: object) =>
        account.request('DELETE', `${BASE}/tokens/revoke/${name}`, body === undefined ? {} : json(body))
      assertError(await revoke('one'), 400, '2fa_required')
      assertError(await revoke('none'), 404, 'NOT_FOUND')
      const code = await nextCode(world, secret)
      await expectStatus(revoke('one', { twoFactorCode: code }), 200)
      assertError(await revoke('two', { totpCode: code }), 400, '2fa_invalid')
      const byPost = (body: object) => account.request('POST', `${BASE}/tokens/revoke`, json(body))
      assertError(await byPost({ name: 'two' }), 400, '2fa_required')
      await expectStatus(byPost({ name: 'two', totpCode: await nextCode(world, secret) }), 200)
    },
  },
  {
    id: 'auth.2fa-disable',
    name: 'MUST disable the second factor with a code or the password',
    async run(world) {
      const account = await person(world)
      const { token, secret } = await protect(world, account)
      const disable = (body: object) => post(world, '/auth/2fa/disable', body, token)
      assertError(await account.request('POST', `${BASE}/auth/2fa/disable`), 403, 'SESSION_REQUIRED')
      assertError(await disable({}), 400, '2fa_required')
      assertError(await disable({ code: '12345x' }), 400, '2fa_invalid')
      assertError(await disable({ password: 'wrong' }), 400, 'VALIDATION', 'password')
      await expectStatus(disable({ code: await nextCode(world, secret) }), 200)
      assertError(await disable({ password: PASSWORD }), 409, 'CONFLICT')
      await protect(world, account).then(({ token }) =>
        expectStatus(post(world, '/auth/2fa/disable', { password: PASSWORD }, token), 200),
      )
      await signIn(world, account)
      assert.equal((await account.request('GET', `${BASE}/users/me`)).json.twoFactorEnabled, false)
      await expectStatus(account.request('DELETE', `${BASE}/tokens/revoke/main`), 200)
    },
  },
]
