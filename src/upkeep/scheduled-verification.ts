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
  bytesPerSecond: number
}

const BATCH = 8
/** Minimum bytes that a block counts against the rate limit. Reading even a small block costs this much. */
const LEAST_BYTES = 4_096
const DAY_MS = 86_400_000
const RETRY_MS = 60_000

/**
 * Reads every block slowly and checks its hash, in endless rounds. Quarantines and repairs damaged blocks immediately.
 * Continues the round after a restart.
 */
export class ScheduledVerification {
  readonly #parts: VerificationParts
  readonly #options: VerificationOptions
  readonly #ending = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #cancelTimer: () => void = () => undefined

  constructor(parts: VerificationParts, options: VerificationOptions) {
    this.#parts = parts
    this.#options = options
  }

  /** The first round begins one interval after the node's first start. */
  async start(): Promise<void> {
    const { table, clock } = this.#parts
    if (table.get() === undefined) await table.set({ lastBlock: 0, blocks: 0, damaged: 0, endedAt: clock.now() })
    this.#sleep(0)
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
      logger.info({ blocks: state.blocks, damaged: state.damaged }, 'verified all blocks')
      return waitFor(clock.now() + this.#options.everyMs, clock.now())
    }
    const counted = state.lastBlock === 0 ? { blocks: 0, damaged: 0 } : state
    return this.#check(batch, { ...state, blocks: counted.blocks, damaged: counted.damaged })
  }

  async #check(batch: ReturnType<Blocks['durableAfter']>, state: VerificationState): Promise<number> {
    const { table, verifier, lost, hasNetwork } = this.#parts
    const { signal } = this.#ending
    const next = { ...state }
    let bytes = 0
    for (const block of batch) {
      if (signal.aborted) break
      const problem = await verifier.problemOf(block)
      if (problem !== null) {
        next.damaged++
        await lost.see(block, problem.replace(/^block \S+ /, ''), { requeue: hasNetwork(), signal })
      }
      next.blocks++
      next.lastBlock = block.id
      bytes += Math.max(block.size, LEAST_BYTES)
      if (turnSpent()) await nextTurn()
    }
    await table.set(next)
    return (bytes / this.#options.bytesPerSecond) * 1_000
  }
}

export function verificationOptions(given: { everyDays: number; bytesPerSecond: number }): VerificationOptions | null {
  const { everyDays, bytesPerSecond } = given
  return everyDays === 0 ? null : { everyMs: everyDays * DAY_MS, bytesPerSecond }
}
