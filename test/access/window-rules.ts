import { expect } from 'vitest'
import type { RequestLimits } from '../../src/access/limits/request-limits.ts'
import type { Principal } from '../../src/access/principal.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { HoldfastError } from '../../src/domain/errors.ts'
import { builtInPlans, type RateLimit } from '../../src/domain/plan.ts'

/** Windows of one key, in any store. */
export interface TestWindows {
  /** Counts a request. `msLeft` are the milliseconds until the window ends. */
  take(limit: RateLimit): Promise<{ allowed: boolean; msLeft: number }>
  /** Moves the clock of the store forward. */
  pass(ms: number): Promise<void>
}

/** Returns the windows of a key's requests. @param pass moves the clock of the store forward */
export function requestWindows(requests: RequestLimits, clock: Clock, pass: TestWindows['pass']): TestWindows {
  const plan = builtInPlans[0]
  const take: TestWindows['take'] = async limit => {
    const limited = { account: { id: 'one' }, plan: { ...plan, rateLimit: limit, accountRateLimit: null } }
    try {
      const status = await requests.take({ ...limited, credential: { id: 'one' } } as Principal)
      return { allowed: true, msLeft: (status?.resetAt ?? 0) - clock.now() }
    } catch (error) {
      const { resetTime } = (error as HoldfastError).details as { resetTime: string }
      return { allowed: false, msLeft: Date.parse(resetTime) - clock.now() }
    }
  }
  return { take, pass }
}

const TWO = { requests: 2, windowSeconds: 60 }
const all = async (windows: TestWindows, limits: readonly RateLimit[]): Promise<boolean[]> => {
  const allowed: boolean[] = []
  for (const limit of limits) allowed.push((await windows.take(limit)).allowed)
  return allowed
}
const endsIn = async (windows: TestWindows, limit: RateLimit, seconds: number): Promise<void> => {
  const { allowed, msLeft } = await windows.take(limit)
  expect(allowed).toBe(false)
  // A database uses its own clock.
  expect(msLeft).toBeGreaterThan(seconds * 1_000 - 5_000)
  expect(msLeft).toBeLessThanOrEqual(seconds * 1_000)
}

/** Rules that every store of windows keeps. Each rule gets a key without a window. */
export const windowRules: ReadonlyArray<{ name: string; run(windows: TestWindows): Promise<void> }> = [
  {
    name: 'a window allows its number of requests until it ends',
    run: async windows => {
      expect(await all(windows, [TWO, TWO, TWO])).toEqual([true, true, false])
      await windows.pass(30_000)
      await endsIn(windows, TWO, 30)
      await windows.pass(30_000)
      expect(await all(windows, [TWO, TWO, TWO])).toEqual([true, true, false])
    },
  },
  {
    name: 'a limit of 0 allows no request',
    run: async windows => expect(await all(windows, [{ ...TWO, requests: 0 }, TWO])).toEqual([false, true]),
  },
  {
    name: 'a raised limit allows more requests at once, a lowered one none',
    run: async windows => {
      const four = { ...TWO, requests: 4 }
      expect(await all(windows, [TWO, TWO, TWO, four, four, four])).toEqual([true, true, false, true, true, false])
      expect(await all(windows, [TWO, four])).toEqual([false, false])
    },
  },
  {
    name: 'a raised limit counts only the requests allowed before',
    run: async windows => {
      const wider = Array.from({ length: 12 }, () => ({ ...TWO, requests: 12 }))
      const allowed = await all(windows, [{ ...TWO, requests: 8 }, ...wider])
      expect(allowed.filter(Boolean)).toHaveLength(12)
    },
  },
  {
    name: 'a window keeps its end when its limit becomes longer',
    run: async windows => {
      const long = { ...TWO, windowSeconds: 3_600 }
      expect(await all(windows, [TWO, TWO])).toEqual([true, true])
      await endsIn(windows, long, 60)
      await windows.pass(60_000)
      expect(await all(windows, [long, long])).toEqual([true, true])
      await endsIn(windows, long, 3_600)
    },
  },
  {
    name: 'a window longer than its new limit is replaced',
    run: async windows => {
      const long = { ...TWO, windowSeconds: 3_600 }
      expect(await all(windows, [long, long, long])).toEqual([true, true, false])
      expect(await all(windows, [TWO, TWO])).toEqual([true, true])
      await endsIn(windows, TWO, 60)
    },
  },
]
