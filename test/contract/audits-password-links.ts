import assert from 'node:assert/strict'
import { PASSWORD, person, post, signIn } from './audits-auth.ts'
import { protect } from './audits-second-factor.ts'
import { type Audit, assertError, BASE, DAY_MS, expectStatus, type World } from './world.ts'

const NEW_PASSWORD = 'a password from a link'

function use(world: World, token: unknown, password: unknown = NEW_PASSWORD) {
  return post(world, '/auth/password', { token, password })
}

/** Links that set a password, made by the owner. */
export const passwordLinkAudits: readonly Audit[] = [
  {
    id: 'auth.link',
    name: 'MUST set the password with a link, and end the sessions but no key',
    async run(world) {
      const account = await person(world)
      const { email } = account
      const session = await signIn(world, account)
      // The user has forgotten the password, and has locked the account by guessing.
      for (let tries = 0; tries < 10; tries++) await post(world, '/auth/login', { email, password: 'a guess' })
      const token = await world.passwordLink(account)
      assert.match(token, /^[0-9a-f]{64}$/)
      const set = await expectStatus(use(world, token), 200)
      assert.deepEqual([set.json.email, typeof set.json.message], [email, 'string'])
      const headers = { authorization: `Bearer ${session}` }
      assertError(await world.client.request('GET', `${BASE}/users/me`, { headers }), 401, 'INVALID_API_KEY')
      await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
      assertError(await post(world, '/auth/login', { email, password: PASSWORD }), 401, 'INVALID_API_KEY')
      await expectStatus(post(world, '/auth/login', { email, password: NEW_PASSWORD }), 200)
    },
  },
  {
    id: 'auth.link-dead',
    name: 'MUST refuse a link that was used, replaced, or has expired, all alike',
    async run(world) {
      const [account, other] = [await world.actor(), await world.actor()]
      const replaced = await world.passwordLink(account)
      const used = await world.passwordLink(account)
      const uses = await Promise.all([1, 2, 3].map(i => use(world, used, `${NEW_PASSWORD} ${i}`)))
      assert.deepEqual(uses.map(({ status }) => status).toSorted(), [200, 401, 401])
      const changed = await world.passwordLink(account)
      await world.setPassword(account, PASSWORD)
      const expired = await world.passwordLink(other)
      await world.advance(DAY_MS)
      const unknown = await use(world, 'f'.repeat(64))
      assertError(unknown, 401, 'INVALID_API_KEY')
      for (const token of [replaced, used, changed, expired, expired.toUpperCase(), account.secret, '../x', '0']) {
        const answer = await use(world, token)
        assert.deepEqual([answer.status, answer.json], [unknown.status, unknown.json], token)
      }
      await signIn(world, account)
      await world.advance(DAY_MS)
    },
  },
  {
    id: 'auth.link-input',
    name: 'MUST keep a link after a refused password, and name the field',
    async run(world) {
      const account = await world.actor()
      const token = await world.passwordLink(account)
      const cases: [token: unknown, password: unknown, field: string][] = [
        [token, 'short', 'password'],
        [token, 'x'.repeat(1_025), 'password'],
        [token, [PASSWORD], 'password'],
        [[token], PASSWORD, 'token'],
        [null, PASSWORD, 'token'],
      ]
      for (const [sent, password, field] of cases)
        assertError(await use(world, sent, password), 400, 'VALIDATION', field)
      assertError(await post(world, '/auth/password', { token }), 400, 'VALIDATION', 'password')
      await expectStatus(use(world, token), 200)
    },
  },
  {
    id: 'auth.link-2fa',
    name: 'MUST leave the second factor on after a link has set the password',
    async run(world) {
      const account = await person(world)
      await protect(world, account)
      await expectStatus(use(world, await world.passwordLink(account)), 200)
      const { email } = account
      const { json: login } = await expectStatus(post(world, '/auth/login', { email, password: NEW_PASSWORD }), 200)
      assert.deepEqual([login.requires2FA, login.token], [true, undefined])
    },
  },
  {
    id: 'auth.link-half',
    name: 'MUST end a half-finished sign-in with the old password',
    async run(world) {
      const account = await person(world)
      const { codes } = await protect(world, account)
      const { email } = account
      const { json: half } = await expectStatus(post(world, '/auth/login', { email, password: PASSWORD }), 200)
      await expectStatus(use(world, await world.passwordLink(account)), 200)
      const { temporaryToken } = half
      const late = await post(world, '/auth/2fa/verify-login', { temporaryToken, code: codes[0] })
      assertError(late, 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'auth.link-disabled',
    name: 'MUST refuse the link of a disabled account',
    async run(world) {
      const account = await person(world)
      const token = await world.passwordLink(account)
      await world.disable(account)
      assertError(await use(world, token), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'auth.link-guess',
    name: 'MUST answer 429 with Retry-After after many guessed links, then recover',
    async run(world) {
      const account = await world.actor()
      const token = await world.passwordLink(account)
      let answer = await use(world, '0')
      for (let tries = 0; tries < 100 && answer.status === 401; tries++) answer = await use(world, `${tries}`)
      const body = assertError(answer, 429, 'RATE_LIMIT')
      assert.equal(answer.header('retry-after'), String(body.retryAfter))
      assertError(await use(world, token), 429, 'RATE_LIMIT')
      await world.advance(Number(body.retryAfter) * 1_000)
      await expectStatus(use(world, token), 200)
    },
  },
]
