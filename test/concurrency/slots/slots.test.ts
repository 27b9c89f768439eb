import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Slot } from '../../../src/concurrency/slots/paced-slot.ts'
import { type SlotLimits, Slots } from '../../../src/concurrency/slots/slots.ts'
import { ManualClock } from '../../support/manual-clock.ts'

function limitsOf(limits: Partial<SlotLimits>): SlotLimits {
  return { capacity: 4, perOwner: null, waiting: 4, waitMs: 1_000, what: 'the thing', ...limits }
}

/** Records the outcome of a request for a slot. */
function asked(slots: Slots, owner: string, signal?: AbortSignal) {
  const outcome: { slot: Slot | null; refused: unknown } = { slot: null, refused: null }
  slots.enter(owner, signal).then(
    slot => {
      outcome.slot = slot
    },
    (error: unknown) => {
      outcome.refused = error
    },
  )
  return outcome
}

const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

async function take(slots: Slots, owner: string, count: number): Promise<Slot[]> {
  return Promise.all(Array.from({ length: count }, () => slots.enter(owner)))
}

describe('slots', () => {
  const slotsOf = (limits: Partial<SlotLimits> = {}) => {
    const clock = new ManualClock()
    return { clock, slots: new Slots(limitsOf(limits), clock) }
  }

  test('one owner may have all of a few without contention', async () => {
    const { slots } = slotsOf()
    const taken = await take(slots, 'a', 4)
    for (const slot of taken) slot.leave()
    for (const slot of taken) slot.leave()
    expect(slots.state).toEqual({ running: 0, waiting: 0 })
  })

  test('a free slot goes to the owner with fewest, then the oldest', async () => {
    const { slots } = slotsOf()
    const [first, second] = await take(slots, 'a', 4)
    const more = asked(slots, 'a')
    const other = asked(slots, 'b')
    const third = asked(slots, 'c')
    first?.leave()
    await settled()
    expect([more.slot, other.slot === null, third.slot]).toEqual([null, false, null])
    second?.leave()
    await settled()
    expect([more.slot, third.slot === null]).toEqual([null, false])
  })

  test('a request that waits too long or behind too many is refused', async () => {
    const { slots, clock } = slotsOf({ waiting: 1 })
    await take(slots, 'a', 4)
    const waiting = asked(slots, 'a')
    const toomany = asked(slots, 'a')
    await settled()
    expect(toomany.refused).toMatchObject({ code: 'UNAVAILABLE', details: { retryAfter: 1 } })
    expect(waiting.refused).toBe(null)
    clock.advance(1_000)
    await settled()
    expect(waiting.refused).toMatchObject({ code: 'UNAVAILABLE' })
    expect(slots.state).toEqual({ running: 4, waiting: 0 })
  })

  test('a full queue admits an owner with fewer requests', async () => {
    const { slots } = slotsOf({ waiting: 3 })
    await take(slots, 'a', 4)
    const many = [asked(slots, 'a'), asked(slots, 'a'), asked(slots, 'a')]
    const other = asked(slots, 'b')
    await settled()
    expect(many.map(({ refused }) => refused === null)).toEqual([true, true, false])
    expect(other.refused).toBe(null)
  })

  test('a signal ends the wait and frees its place', async () => {
    const { slots } = slotsOf()
    await take(slots, 'a', 4)
    const gone = new AbortController()
    const waiting = asked(slots, 'b', gone.signal)
    gone.abort(new Error('the client has gone'))
    await settled()
    expect(waiting.refused).toMatchObject({ message: 'the client has gone' })
    expect(slots.state.waiting).toBe(0)
    await expect(slots.enter('b', gone.signal)).rejects.toThrow('the client has gone')
  })

  test('a greedy owner loses a slow slot, but no fast one', async () => {
    const { slots, clock } = slotsOf()
    const taken = await take(slots, 'a', 4)
    const ended: number[] = []
    for (const [index, slot] of taken.entries()) slot.watch(() => ended.push(index))
    for (let second = 0; second < 11; second++) {
      for (const [index, slot] of taken.entries()) slot.progress(index === 2 ? 5_000 : 100_000)
      clock.advance(1_000)
    }
    const same = asked(slots, 'a')
    await settled()
    expect(same.slot).toBe(null)
    const other = asked(slots, 'b')
    await settled()
    expect([ended, other.slot === null]).toEqual([[2], false])
    expect(slots.state.running).toBe(4)
    taken[2]?.leave()
    expect(slots.state.running).toBe(4)
  })

  test('readers that stall after admission end while another waits', async () => {
    const { slots, clock } = slotsOf({ waitMs: 15_000 })
    const taken = await take(slots, 'a', 4)
    let ended = 0
    for (const slot of taken) slot.watch(() => ended++)
    const others = [asked(slots, 'b'), asked(slots, 'b')]
    clock.advance(9_900)
    await settled()
    expect(ended).toBe(0)
    clock.advance(2_000)
    await settled()
    expect([ended, others.map(({ slot }) => slot === null)]).toEqual([2, [false, false]])
  })

  test('only time spent on the client counts', async () => {
    const { slots, clock } = slotsOf({ waitMs: 60_000 })
    const taken = await take(slots, 'a', 4)
    let ended = 0
    for (const slot of taken) {
      slot.watch(() => ended++)
      slot.pause()
    }
    const other = asked(slots, 'b')
    clock.advance(10_000)
    expect(ended).toBe(0)
    taken[0]?.resume()
    clock.advance(8_000)
    taken[0]?.pause()
    clock.advance(10_000)
    expect(ended).toBe(0)
    taken[0]?.resume()
    clock.advance(4_000)
    await settled()
    expect([ended, other.slot === null]).toEqual([1, false])
  })

  test('a slot without an answer yet never ends', async () => {
    const { slots, clock } = slotsOf({ waitMs: 60_000 })
    await take(slots, 'a', 4)
    const other = asked(slots, 'b')
    clock.advance(30_000)
    await settled()
    expect(other.slot).toBe(null)
  })

  test('a thousand slow readers of one address keep nobody out', async () => {
    const { slots } = slotsOf({ capacity: 1_024, waiting: 1_024 })
    const crowd = Array.from({ length: 2_000 }, () => asked(slots, 'crowd'))
    await settled()
    expect(crowd.filter(({ slot }) => slot !== null)).toHaveLength(896)
    await take(slots, 'other', 50)
    // The crowd takes no slot that the others return.
    for (const slot of await take(slots, 'another', 50)) slot.leave()
    await settled()
    expect(crowd.filter(({ slot }) => slot !== null)).toHaveLength(896)
    crowd[0]?.slot?.leave()
    await settled()
    expect(slots.state.running).toBeLessThan(1_024 - 50)
  })

  test('slow readers of many addresses end for those of others', async () => {
    const { slots, clock } = slotsOf({ capacity: 1_024, waiting: 1_024, waitMs: 15_000 })
    const crowd = await Promise.all(Array.from({ length: 1_024 }, (_, index) => slots.enter(`address ${index % 512}`)))
    for (const slot of crowd) slot.watch(() => undefined)
    const more = Array.from({ length: 900 }, (_, index) => asked(slots, `address ${index % 512}`))
    const others = Array.from({ length: 50 }, (_, index) => asked(slots, `client ${index}`))
    clock.advance(11_000)
    await settled()
    expect(others.filter(({ slot }) => slot !== null)).toHaveLength(50)
    expect(more.filter(({ slot }) => slot !== null)).toHaveLength(0)
  })

  test('counts stay right under random use', async () => {
    const step = fc.oneof(
      fc.record({ act: fc.constant('enter'), owner: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ act: fc.constant('leave'), index: fc.nat(50) }),
      fc.record({ act: fc.constant('advance'), ms: fc.integer({ min: 1, max: 6_000 }) }),
      fc.record({ act: fc.constant('abort'), index: fc.nat(50) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
        const { slots, clock } = slotsOf({ capacity: 3, perOwner: 2, waiting: 3 })
        const all: { outcome: ReturnType<typeof asked>; gone: AbortController; over: boolean }[] = []
        for (const { act, ...given } of steps as { act: string; owner?: string; index?: number; ms?: number }[]) {
          const one = all[given.index ?? -1]
          if (act === 'enter') {
            const gone = new AbortController()
            const entry = { outcome: asked(slots, given.owner ?? '', gone.signal), gone, over: false }
            all.push(entry)
            await settled()
            entry.outcome.slot?.watch(() => {
              entry.over = true
            })
          } else if (act === 'leave' && one?.outcome.slot) {
            one.outcome.slot.leave()
            one.over = true
          } else if (act === 'abort' && one?.outcome.slot === null) one.gone.abort(new Error('gone'))
          else if (act === 'advance') clock.advance(given.ms ?? 0)
          await settled()
          const running = all.filter(({ outcome, over }) => outcome.slot !== null && !over).length
          const waiting = all.filter(({ outcome }) => outcome.slot === null && outcome.refused === null).length
          expect(slots.state).toEqual({ running, waiting })
          expect(running).toBeLessThanOrEqual(3)
        }
      }),
      { numRuns: 200 },
    )
  })
})

test('one owner never has more than its own limit', async () => {
  const { slots } = { slots: new Slots(limitsOf({ perOwner: 2 }), new ManualClock()) }
  const [first] = await take(slots, 'a', 2)
  const more = asked(slots, 'a')
  await take(slots, 'b', 2)
  await settled()
  expect(more.slot).toBe(null)
  first?.leave()
  await settled()
  expect(more.slot).not.toBe(null)
})

test('threads have equal parts of slots and queue', async () => {
  let threads = 1
  const clock = new ManualClock()
  const slots = new Slots(limitsOf({ threads: () => threads }), clock)
  await take(slots, 'a', 2)
  threads = 2
  const later = Array.from({ length: 4 }, (_, index) => asked(slots, `b${index}`))
  await settled()
  expect(later.map(({ slot, refused }) => [slot !== null, refused !== null])).toEqual([
    [false, false],
    [false, false],
    [false, true],
    [false, true],
  ])
  threads = 1
  clock.advance(500)
  await settled()
  expect(later.map(({ slot }) => slot !== null)).toEqual([true, true, false, false])
})

test('a thread has at least one slot', async () => {
  const slots = new Slots(limitsOf({ threads: () => 9 }), new ManualClock())
  await take(slots, 'a', 1)
  const more = asked(slots, 'b')
  await settled()
  expect([more.slot, slots.state]).toEqual([null, { running: 1, waiting: 1 }])
})
