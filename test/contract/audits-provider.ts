import assert from 'node:assert/strict'
import { PASSWORD, person, post, signIn } from './audits-auth.ts'
import { protect } from './audits-second-factor.ts'
import { type Answer, type Audit, assertError, BASE, expectStatus, type World } from './world.ts'

const HOUR_MS = 60 * 60 * 1_000

function finish(world: World, identity: object | string): Promise<Answer> {
  const answer = typeof identity === 'string' ? identity : JSON.stringify(identity)
  return post(world, '/auth/provider/finish', { secret: 'of the tab', answer })
}

async function signedIn(world: World, identity: object): Promise<Answer['json']> {
  return (await expectStatus(finish(world, identity), 200)).json
}

function me(world: World, token: string): Promise<Answer> {
  return world.client.request('GET', `${BASE}/users/me`, { headers: { authorization: `Bearer ${token}` } })
}

/** Sign-in with a provider. */
export const providerAudits: readonly Audit[] = [
  {
    id: 'auth.provider',
    name: 'MUST sign a user in with the provider, for an hour, into one account',
    async run(world) {
      const { json: started } = await expectStatus(post(world, '/auth/provider/start', {}), 200)
      assert.deepEqual(Object.keys(started).toSorted(), ['secret', 'url'])
      assert.ok(!started.url.includes(started.secret))
      const ada = { subject: 'ada', email: 'ada@provider.example', name: 'Ada', groups: ['x', 'staff'] }
      const first = await signedIn(world, ada)
      assert.deepEqual([first.user.email, first.user.name, first.user.plan], [ada.email, 'Ada', 'premium'])
      assert.equal(first.user.role, 'user')
      const second = await signedIn(world, { ...ada, email: 'other@provider.example', groups: [] })
      assert.deepEqual([second.user.id, second.user.plan], [first.user.id, 'free'])
      const elsewhere = await signedIn(world, { ...ada, issuer: 'https://other.example' })
      assert.notEqual(elsewhere.user.id, first.user.id)
      await world.advance(HOUR_MS - 1_000)
      await expectStatus(me(world, first.token), 200)
      await world.advance(1_000)
      assertError(await me(world, first.token), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'auth.provider-email',
    name: 'MUST give nobody the account of an email that the provider names',
    async run(world) {
      const victim = await person(world)
      const reserved = ['owner@localhost', ' Owner@localhost\u2003']
      for (const [i, email] of [victim.email, victim.email.toUpperCase(), ...reserved, 'a b', ''].entries()) {
        const { user } = await signedIn(world, { subject: `evil ${i}`, email })
        assert.notEqual(user.id, victim.id)
        assert.notEqual(user.email.toLowerCase(), email.toLowerCase().trim())
        assert.deepEqual([user.role, user.plan], ['user', 'free'])
        for (const password of [PASSWORD, '', ' ']) {
          assert.equal((await post(world, '/auth/login', { email: user.email, password })).status, 401)
        }
      }
      await signIn(world, victim)
    },
  },
  {
    id: 'auth.provider-2fa',
    name: 'MUST ask for the second factor after the provider, too',
    async run(world) {
      const identity = { subject: 'careful', email: 'careful@provider.example' }
      const { user } = await signedIn(world, identity)
      await world.setPassword(user, PASSWORD)
      const { codes } = await protect(world, user)
      const half = await signedIn(world, identity)
      assert.deepEqual([half.requires2FA, half.token], [true, undefined])
      const { temporaryToken } = half
      assertError(await post(world, '/auth/2fa/verify-login', { temporaryToken, code: '000000' }), 400, '2fa_invalid')
      const done = await expectStatus(post(world, '/auth/2fa/verify-login', { temporaryToken, code: codes[0] }), 200)
      await expectStatus(me(world, done.json.token), 200)
      await world.advance(HOUR_MS)
      assertError(await me(world, done.json.token), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'auth.provider-disabled',
    name: 'MUST answer 403 account_disabled to a disabled user of the provider',
    async run(world) {
      const { user } = await signedIn(world, { subject: 'disabled' })
      await world.disable(user)
      assertError(await finish(world, { subject: 'disabled' }), 403, 'account_disabled')
    },
  },
  {
    id: 'auth.provider-throttle',
    name: 'MUST refuse bad answers of a provider, and 429 many, then recover',
    async run(world) {
      assertError(await finish(world, '?code=1&state=2'), 401, 'INVALID_API_KEY')
      const cases: [body: object, field: string][] = [
        [{ answer: 'x' }, 'secret'],
        [{ secret: 'x' }, 'answer'],
        [{ secret: ['x'], answer: 'x' }, 'secret'],
      ]
      for (const [body, field] of cases) {
        assertError(await post(world, '/auth/provider/finish', body), 400, 'VALIDATION', field)
      }
      let answer = await finish(world, '?')
      for (let tries = 0; tries < 100 && answer.status === 401; tries++) answer = await finish(world, '?')
      const body = assertError(answer, 429, 'RATE_LIMIT')
      assertError(await post(world, '/auth/provider/start', {}), 429, 'RATE_LIMIT')
      await world.advance(Number(body.retryAfter) * 1_000)
      // Successful sign-ins of many users behind one address do not count.
      for (let i = 0; i < 70; i++) await signedIn(world, { subject: 'patient' })
      for (let i = 0; i < 100 && answer.status !== 200; i++) answer = await finish(world, { subject: 'patient' })
      for (let i = 0; i < 100 && answer.status === 200; i++) answer = await finish(world, { subject: `new ${i}` })
      assertError(answer, 429, 'RATE_LIMIT')
      await world.advance(15 * 60_000)
    },
  },
]
