import assert from 'node:assert/strict'
import { type Answer, type Audit, assertError, BASE, expectStatus, json } from './world.ts'

const WINDOW_MS = 60_000

function rateHeaders(answer: Answer): (number | null)[] {
  return ['limit', 'remaining', 'reset'].map(name => {
    const value = answer.header(`x-ratelimit-${name}`)
    return value === undefined ? null : Number(value)
  })
}

/** Rate limits. In a window of a minute a key has three requests, an account four. */
export const limitAudits: readonly Audit[] = [
  {
    id: 'limits.headers',
    name: 'MUST send limit, remaining and reset with every authenticated answer',
    async run({ client, actor, now }) {
      const account = await actor('audit-rate')
      const first = await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
      const reset = Math.ceil((now() + WINDOW_MS) / 1000)
      assert.deepEqual(rateHeaders(first), [3, 2, reset])
      const invalid = await account.request('GET', `${BASE}/users/me/uploads?page=0`)
      assertError(invalid, 400, 'VALIDATION')
      assert.deepEqual(rateHeaders(invalid), [3, 1, reset])
      const secret = await account.key({ name: 'reader', scopes: ['files:read'] })
      const headers = { 'x-api-key': secret }
      const forbidden = await client.request('GET', `${BASE}/users/me/clusters`, { headers })
      assertError(forbidden, 403, 'missing_scope')
      // The account has one request left of four, which is the tighter limit.
      assert.deepEqual(rateHeaders(forbidden), [4, 1, reset])
    },
  },
  {
    id: 'limits.none',
    name: 'MUST send no rate-limit headers without limits or without credentials',
    async run({ client, actor }) {
      const account = await actor('unlimited')
      assert.deepEqual(rateHeaders(await account.request('GET', `${BASE}/users/me`)), [null, null, null])
      assert.deepEqual(rateHeaders(await client.request('GET', BASE)), [null, null, null])
    },
  },
  {
    id: 'limits.key',
    name: "MUST answer 429 when a key's window is used up, until retryAfter",
    async run({ actor, advance, now }) {
      const account = await actor('audit-rate')
      for (let used = 0; used < 3; used++) await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
      const began = now()
      await advance(10_500)
      const answer = await account.request('POST', `${BASE}/files/pin/nonsense`)
      const body = assertError(answer, 429, 'RATE_LIMIT')
      assert.equal(body.error, 'Too Many Requests')
      assert.equal(body.retryAfter, 50)
      assert.equal(answer.header('retry-after'), '50')
      assert.equal(body.limit, 3)
      assert.equal(body.remaining, 0)
      assert.equal(body.resetTime, new Date(began + WINDOW_MS).toISOString())
      assert.deepEqual(rateHeaders(answer), [3, 0, Math.ceil((began + WINDOW_MS) / 1000)])
      await advance(Number(body.retryAfter) * 1000)
      await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
    },
  },
  {
    id: 'limits.account',
    name: 'MUST count all keys of an account together',
    async run({ client, actor }) {
      const account = await actor('audit-rate')
      const second = { headers: { 'x-api-key': await account.key({ name: 'second' }) } }
      for (let used = 0; used < 2; used++) {
        await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
        await expectStatus(client.request('GET', `${BASE}/users/me`, second), 200)
      }
      const refused = assertError(await client.request('GET', `${BASE}/users/me`, second), 429, 'RATE_LIMIT')
      assert.equal(refused.limit, 4)
      assertError(await account.request('GET', `${BASE}/users/me`), 429, 'RATE_LIMIT')
    },
  },
  {
    id: 'limits.accounts-apart',
    name: "MUST NOT count one account's requests against another",
    async run({ actor }) {
      const one = await actor('audit-rate')
      const two = await actor('audit-rate')
      for (let used = 0; used < 4; used++) await one.request('GET', `${BASE}/users/me`)
      await expectStatus(two.request('GET', `${BASE}/users/me`), 200)
    },
  },
  {
    id: 'limits.failures',
    name: 'SHOULD limit an address with bad credentials, but not its valid ones',
    async run({ client, actor, advance }) {
      const account = await actor()
      const attempt = () => client.request('GET', `${BASE}/users/me`, { headers: { 'x-api-key': 'guess' } })
      let answer = await attempt()
      for (let tries = 1; tries < 2_000 && answer.status === 401; tries++) answer = await attempt()
      assertError(answer, 429, 'RATE_LIMIT')
      assert.match(answer.header('retry-after') ?? '', /^[1-9]\d*$/)
      await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
      await advance(Number(answer.header('retry-after')) * 1000)
      assertError(await attempt(), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'limits.malformed',
    name: 'MUST limit an address with malformed bodies, but not its valid ones',
    async run({ client, actor, advance }) {
      const account = await actor()
      const attempt = () => client.request('POST', `${BASE}/auth/login`, { ...json({}), body: '{"email":' })
      let answer = await attempt()
      for (let tries = 1; tries < 2_000 && answer.status === 400; tries++) answer = await attempt()
      assertError(answer, 429, 'RATE_LIMIT')
      await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
      await expectStatus(account.request('POST', `${BASE}/tokens/generate`, json({ name: 'good' })), 201)
      await advance(Number(answer.header('retry-after')) * 1000)
      assertError(await attempt(), 400, 'VALIDATION')
    },
  },
]
