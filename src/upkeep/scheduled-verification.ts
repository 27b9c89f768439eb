import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import type { Verifier } from '../content/verifier.ts'
import { type Clock, waitFor } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { Blocks } from '../ledger/blocks.ts'
import type { VerificationProgress, VerificationState } from '../ledger/verification-progress.ts'
import type { LostBlocks } from './lost-blocks.ts'

export interface VerificationParts {
  table: VerificationProgress
  blocks: Blocks
  verifier: Pick<Verifier, 'problemOf'>
  lost: LostBlocks
  hasNetwork: () => boolean
  clock: Clock
  logger: Logger
}

export interface VerificationOptions {
  everyMs: number
  /** Maximum rate; null if only the content and the disk bound the rate. */
  bytesPerSecond: number | null
}

const BATCH = 8
/** Bytes that a block counts in addition to its size, because reading even a small block costs this much. */
const BLOCK_BYTES = 4_096
const DAY_MS = 86_400_000
const RETRY_MS = 60_000
/** Share of the interval in which a round should end. */
const ROUND_SHARE = 0.5
/** Least share of the time for a round over which the remaining content is spread, so that a late round stays slow. */
const LEAST_LEFT = 0.05
/** Lower bound of the rate that follows the content, in bytes per second. */
const LEAST_RATE = 2_097_152
/** Share of the time that reading may take, so that the disk has time for requests. */
const DISK_SHARE = 0.25
/** Share of the interval by which a round may be behind before the log has a warning. */
const BEHIND_SHARE = 0.1

/**
 * Reads every block slowly and checks its hash, in endless rounds. Quarantines and repairs damaged blocks immediately.
 * Continues the round after a restart. The rate follows the amount of content: a round should end within half of the
 * interval. If the disk is too slow or the given rate too low for that, the round is behind.
 */
export class ScheduledVerification {
  readonly #parts: VerificationParts
  readonly #options: VerificationOptions
  readonly #ending = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #cancelTimer: () => void = () => undefined
  /** Bytes that this process has checked in the round, and the number of blocks that were checked before. */
  #done = { bytes: 0, before: 0 }
  #isBehind = false

  constructor(parts: VerificationParts, options: VerificationOptions) {
    this.#parts = parts
    this.#options = options
  }

  start(): void {
    const state = this.#parts.table.get()
    if (state !== undefined && state.lastBlock > 0) this.#done = { bytes: 0, before: state.blocks }
    this.#sleep(0)
  }

  /** Returns the time in ms by which the round is behind its schedule; 0 between rounds and for a round on time. */
  behindMs(): number {
    const { table, clock } = this.#parts
    const state = table.get()
    if (state === undefined) return 0
    const { everyMs } = this.#options
    const share = state.lastBlock === 0 ? 0 : this.#progress().share
    return Math.max(0, Math.round(clock.now() - state.endedAt - everyMs - share * ROUND_SHARE * everyMs))
  }

  async stop(): Promise<void> {
    this.#ending.abort()
    this.#cancelTimer()
    await this.#running
  }

  #sleep(ms: number): void {
    if (this.#ending.signal.aborted) return
    this.#cancelTimer = this.#parts.clock.after(ms, () => {
      this.#running = this.#step()
        .catch((error: unknown) => {
          if (!this.#ending.signal.aborted)
            this.#parts.logger.error({ err: error }, 'a step of verification failed; it is repeated')
          return RETRY_MS
        })
        .then(pause => this.#sleep(pause))
    })
  }

  /** Returns the pause after this step in ms. */
  async #step(): Promise<number> {
    const { table, blocks, clock, logger } = this.#parts
    const state = table.get() ?? { lastBlock: 0, blocks: 0, damaged: 0, endedAt: clock.now() }
    const due = state.endedAt + this.#options.everyMs
    if (state.lastBlock === 0 && clock.now() < due) return waitFor(due, clock.now())
    const batch = blocks.durableAfter(state.lastBlock, BATCH)
    if (batch.length === 0) {
      await table.set({ ...state, lastBlock: 0, endedAt: clock.now() })
      this.#isBehind = false
      logger.info({ blocks: state.blocks, damaged: state.damaged }, 'verified all blocks')
      return waitFor(clock.now() + this.#options.everyMs, clock.now())
    }
    if (state.lastBlock > 0) return this.#check(batch, state)
    this.#done = { bytes: 0, before: 0 }
    return this.#check(batch, { ...state, blocks: 0, damaged: 0 })
  }

  async #check(batch: ReturnType<Blocks['durableAfter']>, state: VerificationState): Promise<number> {
    const { table, verifier, lost, hasNetwork, clock } = this.#parts
    const { signal } = this.#ending
    const next = { ...state }
    const rate = this.#rate(state)
    let bytes = 0
    let readingMs = 0
    for (const block of batch) {
      if (signal.aborted) break
      const began = clock.now()
      const problem = await verifier.problemOf(block)
      readingMs += clock.now() - began
      if (problem !== null) {
        next.damaged++
        await lost.see(block, problem.replace(/^block \S+ /, ''), { requeue: hasNetwork(), signal })
      }
      next.blocks++
      next.lastBlock = block.id
      bytes += block.size + BLOCK_BYTES
      if (turnSpent()) await nextTurn()
    }
    this.#done.bytes += bytes
    await table.set(next)
    this.#warnIfBehind()
    return Math.max((bytes / rate) * 1_000 - readingMs, readingMs * (1 / DISK_SHARE - 1))
  }

  /** Returns the rate in bytes per second that ends the round in time, within the limits of the options. */
  #rate({ endedAt }: VerificationState): number {
    const { everyMs, bytesPerSecond } = this.#options
    const wholeMs = ROUND_SHARE * everyMs
    const leftMs = Math.max(endedAt + everyMs + wholeMs - this.#parts.clock.now(), LEAST_LEFT * wholeMs)
    const { whole, left } = this.#progress()
    const needed = Math.max(whole / wholeMs, left / leftMs) * 1_000
    return Math.min(bytesPerSecond ?? Number.POSITIVE_INFINITY, Math.max(LEAST_RATE, needed))
  }

  /**
   * Returns the bytes of the round, those that it has left, and the share that it has checked. Blocks that an earlier
   * process checked count with the average size.
   */
  #progress(): { whole: number; left: number; share: number } {
    const { count, bytes } = this.#parts.blocks.durableAmount()
    const whole = bytes + count * BLOCK_BYTES
    const before = count === 0 ? 0 : (this.#done.before / count) * whole
    const left = Math.max(0, whole - before - this.#done.bytes)
    return { whole, left, share: whole === 0 ? 1 : 1 - left / whole }
  }

  #warnIfBehind(): void {
    const behindMs = this.behindMs()
    if (this.#isBehind || behindMs <= BEHIND_SHARE * this.#options.everyMs) return
    this.#isBehind = true
    const days = Math.round((behindMs / DAY_MS) * 10) / 10
    this.#parts.logger.warn({ days }, 'verification is behind its schedule')
  }
}

export function verificationOptions(given: {
  everyDays: number
  bytesPerSecond?: number | undefined
}): VerificationOptions | null {
  const { everyDays, bytesPerSecond = null } = given
  return everyDays === 0 ? null : { everyMs: everyDays * DAY_MS, bytesPerSecond }
}
