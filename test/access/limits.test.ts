import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MemoryAttempts } from '../../src/access/limits/memory-attempts.ts'
import { AddressList, clientOf } from '../../src/access/limits/network-address.ts'
import { RequestLimits } from '../../src/access/limits/request-limits.ts'
import type { Principal } from '../../src/access/principal.ts'
import type { RateLimit } from '../../src/domain/plan.ts'
import { builtInPlans } from '../../src/domain/plan.ts'
import { RateLimiter, type RateWindow } from '../../src/domain/rate-limiter.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { failure, StandingClock } from './support.ts'
import { requestWindows, windowRules } from './window-rules.ts'

const limits = fc.record({ requests: fc.integer({ min: 1, max: 20 }), windowSeconds: fc.integer({ min: 1, max: 100 }) })
const pauses = fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 200 })

describe('RateLimiter', () => {
  const limiter = new RateLimiter()

  test('no window exceeds its limit, and waiting retryAfter always suffices', () => {
    fc.assert(
      fc.property(limits, pauses, (limit, waits) => {
        let state: RateWindow | null = null
        let now = 1_000_000
        const passed = new Map<number, number>()
        for (const wait of waits) {
          now += wait
          const decision = limiter.decide(state, limit, now)
          state = decision.state
          expect(decision.resetAt).toBeGreaterThan(now)
          expect(decision.resetAt - now).toBeLessThanOrEqual(limit.windowSeconds * 1_000)
          expect(decision.retryAfter).toBeGreaterThanOrEqual(1)
          expect(Number.isInteger(decision.retryAfter)).toBe(true)
          const soFar = (passed.get(state.startedAt) ?? 0) + (decision.allowed ? 1 : 0)
          passed.set(state.startedAt, soFar)
          expect(soFar).toBeLessThanOrEqual(limit.requests)
          expect(decision.remaining).toBe(limit.requests - soFar)
          if (!decision.allowed) {
            expect(limiter.decide(state, limit, now + decision.retryAfter * 1_000).allowed).toBe(true)
          }
        }
      }),
    )
  })

  test('begins a new window after the clock is set back', () => {
    const limit = { requests: 1, windowSeconds: 60 }
    const { state } = limiter.decide(null, limit, 10_000_000)
    expect(limiter.decide(state, limit, 10_000_000).allowed).toBe(false)
    expect(limiter.decide(state, limit, 5_000_000)).toMatchObject({ allowed: true, resetAt: 5_060_000 })
  })
})

describe('RequestLimits', () => {
  test('reports the window with fewer requests left', () => {
    const { take } = openLimits({ key: limit(5, 60), account: limit(3, 10) })
    expect(take('a')).toMatchObject({ limit: 3, remaining: 2 })
    const other = openLimits({ key: limit(2, 60), account: limit(30, 10) })
    expect(other.take('a')).toMatchObject({ limit: 2, remaining: 1, resetAt: other.clock.now() + 60_000 })
  })

  test('keys have windows of their own, and share the account window', async () => {
    const { take, clock } = openLimits({ key: limit(2, 60), account: limit(3, 60) })
    take('a')
    take('a')
    expect((await failure(() => take('a'))).details).toMatchObject({ limit: 2 })
    expect(take('b')).toMatchObject({ limit: 3, remaining: 0 })
    clock.advance(20_500)
    expect(await failure(() => take('b'))).toMatchObject({
      code: 'RATE_LIMIT',
      details: { limit: 3, remaining: 0, retryAfter: 40, resetTime: '2030-01-01T00:01:00.000Z' },
    })
    clock.advance(39_500)
    expect(take('b')).toMatchObject({ limit: 2, remaining: 1 })
  })

  test('does not limit a plan without limits', () => {
    const { take } = openLimits({ key: null, account: null })
    for (let i = 0; i < 1_000; i++) expect(take('a')).toBeNull()
  })

  test('counts failed credentials by address', async () => {
    const clock = new StandingClock()
    const requests = new RequestLimits({ clock, failures: limit(2, 60) })
    requests.takeFailure('192.0.2.1')
    requests.takeFailure('::ffff:192.0.2.1')
    expect(await failure(() => requests.takeFailure('192.0.2.1'))).toMatchObject({ code: 'RATE_LIMIT' })
    requests.takeFailure('192.0.2.2')
    requests.takeFailure('2001:db8:1:2::1')
    requests.takeFailure('2001:0db8:0001:0002:ffff::')
    expect(await failure(() => requests.takeFailure('2001:db8:1:2:3::'))).toMatchObject({ code: 'RATE_LIMIT' })
    requests.takeFailure('2001:db8:1:3::1')
    for (let i = 0; i < 5; i++) requests.takeFailure(undefined)
  })
})

describe('windows in memory', () => {
  test.each(windowRules)('requests: $name', ({ run }) => {
    const clock = new ManualClock()
    return run(requestWindows(new RequestLimits({ clock }), clock, async ms => clock.advance(ms)))
  })

  test.each(windowRules)('attempts: $name', ({ run }) => {
    const clock = new ManualClock()
    const attempts = new MemoryAttempts(clock)
    return run({ take: limit => attempts.take('one', limit), pass: async ms => clock.advance(ms) })
  })
})

describe('addresses', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4::/64'],
    ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
    ['1::192.0.2.1', '1:0:0:0::/64'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
  ])('%s counts as %s', (address, client) => {
    expect(clientOf(address)).toBe(client)
  })

  test('a list contains its addresses and networks', () => {
    const list = new AddressList(['192.0.2.7', '10.0.0.0/8', '2001:db8::/32', '::ffff:198.51.100.0/120'])
    for (const address of ['192.0.2.7', '::ffff:192.0.2.7', '10.255.0.1', '2001:db8:9::1', '198.51.100.9']) {
      expect(list.has(address), address).toBe(true)
    }
    for (const address of ['192.0.2.8', '11.0.0.1', '2001:db9::1', 'nonsense', '']) {
      expect(list.has(address), address).toBe(false)
    }
    expect(new AddressList(['0.0.0.0/0']).has('203.0.113.1')).toBe(true)
  })

  test.each([
    '',
    'localhost',
    '1.2.3',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    'fe80::1%a',
  ])('a list refuses %j', entry => {
    expect(() => new AddressList([entry])).toThrow(RangeError)
  })

  test('a list covers networks inside its own', () => {
    const list = new AddressList(['10.0.0.0/8', '2001:db8::/32'])
    expect(list.covers(new AddressList(['10.1.0.0/16', '10.0.0.1', '2001:db8:1::/48']))).toBe(true)
    expect(list.covers(new AddressList(['10.1.0.0/16', '11.0.0.1']))).toBe(false)
    expect(list.covers(new AddressList(['0.0.0.0/0']))).toBe(false)
    // Its first address is inside, its last is not.
    for (const wider of ['10.0.0.0/7', '2001:db8::/31']) expect(list.covers(new AddressList([wider]))).toBe(false)
  })
})

function limit(requests: number, windowSeconds: number): RateLimit {
  return { requests, windowSeconds }
}

/** Returns limits of one account. `take` counts a request with the key of that id. */
function openLimits({ key, account }: { key: RateLimit | null; account: RateLimit | null }) {
  const clock = new StandingClock()
  const requests = new RequestLimits({ clock })
  const plan = builtInPlans.find(({ name }) => name === 'unlimited')
  if (plan === undefined) throw new Error('no plan')
  const principal = (id: string): Principal => ({
    account: {
      id: 'account',
      email: 'a@example.org',
      name: null,
      plan: plan.name,
      role: 'user',
      defaultCluster: null,
      disabled: false,
      owner: null,
      defaultVisibility: 'public' as const,
      createdAt: 0,
    },
    plan: { ...plan, rateLimit: key, accountRateLimit: account },
    credential: { kind: 'key', id, name: id, scopes: [], expiresAt: null },
  })
  return { clock, take: (id: string) => requests.take(principal(id)) }
}
