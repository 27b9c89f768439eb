import { describe, expect, test } from 'vitest'
import type { Clock } from '../../src/domain/clock.ts'
import type { Logger } from '../../src/domain/logger.ts'
import type { StoredBlock } from '../../src/ledger/blocks.ts'
import type { VerificationState } from '../../src/ledger/verification-progress.ts'
import { ScheduledVerification, type VerificationParts } from '../../src/upkeep/scheduled-verification.ts'

const DAY = 86_400_000
const GB = 10 ** 9
const TB = 10 ** 12
/** Blocks of a simulated store, of any size. */
const BLOCKS = 800

interface Store {
  bytes: number
  /** Bytes that the disk reads in a second. */
  diskRate?: number
  bytesPerSecond?: number
}

/** A node on a clock that jumps to the next timer, and on a disk that takes time to read. */
class Node {
  readonly #store: Store
  #now = 0
  #timer: { at: number; run: () => void } | null = null
  #state: VerificationState = { lastBlock: 0, blocks: 0, damaged: 0, endedAt: 0 }
  #verification: ScheduledVerification
  readonly warnings: string[] = []
  busyMs = 0

  constructor(store: Store) {
    this.#store = store
    this.#verification = this.#make()
  }

  /** Starts, and waits until the first round is due. */
  async due(): Promise<void> {
    this.#verification.start()
    while (this.#now < 30 * DAY) await this.step()
  }

  async restart(): Promise<void> {
    await this.#verification.stop()
    this.#verification = this.#make()
    this.#verification.start()
  }

  async step(): Promise<void> {
    const timer = this.#timer
    if (timer === null) throw new Error('nothing is due')
    this.#timer = null
    this.#now = Math.max(this.#now, timer.at)
    timer.run()
    while (this.#timer === null) await new Promise(resolve => setImmediate(resolve))
  }

  get checked(): number {
    return this.#state.blocks
  }

  get behindMs(): number {
    return this.#verification.behindMs()
  }

  /** Runs the round to its end. Returns its time in ms. */
  async round(): Promise<number> {
    const before = this.#state.endedAt
    while (this.#state.endedAt === before) await this.step()
    return this.#now - 30 * DAY
  }

  #make(): ScheduledVerification {
    const { bytes, diskRate = Number.POSITIVE_INFINITY, bytesPerSecond = null } = this.#store
    const size = bytes / BLOCKS
    const clock = {
      now: () => this.#now,
      after: (ms: number, run: () => void) => {
        this.#timer = { at: this.#now + ms, run }
        return () => undefined
      },
    } as Clock
    const parts = {
      clock,
      table: {
        get: () => this.#state,
        set: async (state: VerificationState) => {
          this.#state = state
        },
      },
      blocks: {
        durableAmount: () => ({ count: BLOCKS, bytes }),
        durableAfter: (after: number, limit: number) =>
          Array.from(
            { length: Math.min(limit, BLOCKS - after) },
            (_, i) => ({ id: after + i + 1, size }) as StoredBlock,
          ),
      },
      verifier: {
        problemOf: async () => {
          const ms = (size / diskRate) * 1_000
          this.#now += ms
          this.busyMs += ms
          return null
        },
      },
      logger: {
        info: () => undefined,
        warn: (_: object, text: string) => this.warnings.push(text),
      } as unknown as Logger,
    }
    return new ScheduledVerification(parts as unknown as VerificationParts, { everyMs: 30 * DAY, bytesPerSecond })
  }
}

describe('the rate of a verification', () => {
  test('follows the content, so that 40 TB end within 15 days', async () => {
    const node = new Node({ bytes: 40 * TB })
    await node.due()
    const days = (await node.round()) / DAY
    expect(days).toBeGreaterThan(14)
    expect(days).toBeLessThan(15.5)
    expect([node.behindMs, node.warnings]).toEqual([0, []])
  })

  test('goes on after a restart, and ends in time', async () => {
    const node = new Node({ bytes: 40 * TB })
    await node.due()
    while (node.checked < BLOCKS / 2) await node.step()
    await node.restart()
    const days = (await node.round()) / DAY
    expect(days).toBeGreaterThan(14)
    expect(days).toBeLessThan(15.5)
  })

  test('is 2 MiB a second for little content', async () => {
    const node = new Node({ bytes: 100 * GB })
    await node.due()
    expect((await node.round()) / 1_000).toBeCloseTo((100 * GB + BLOCKS * 4_096) / 2_097_152, -3)
  })

  test('takes a quarter of the time, and tells that it is behind', async () => {
    const node = new Node({ bytes: 40 * TB, diskRate: 50_000_000 })
    await node.due()
    while (node.checked < BLOCKS / 2) await node.step()
    expect(node.behindMs).toBeGreaterThan(8 * DAY)
    const took = await node.round()
    expect(node.busyMs / took).toBeCloseTo(0.25, 1)
    expect(node.busyMs / took).toBeLessThanOrEqual(0.26)
    expect(node.warnings).toEqual([expect.stringContaining('verification is behind its schedule')])
    expect(node.behindMs).toBe(0)
  })

  test('never exceeds the given one, even behind the schedule', async () => {
    const node = new Node({ bytes: 40 * TB, bytesPerSecond: 10_000_000 })
    await node.due()
    expect(await node.round()).toBeGreaterThanOrEqual((40 * TB) / 10_000)
    expect(node.warnings.length).toBe(1)
  })
})
