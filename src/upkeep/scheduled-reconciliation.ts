import { type Clock, waitFor } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { Reconciler } from './reconciler.ts'

/** The first look after a start is not later than this: what is started anew every day looks as well. */
const FIRST_MS = 3_600_000

export interface ReconciliationParts {
  reconciler: Pick<Reconciler, 'run'>
  clock: Clock
  logger: Logger
}

/**
 * Looks from time to time at what clusters that are kept elsewhere really have, and has it mended; where that would let
 * go of much, it only says so.
 */
export class ScheduledReconciliation {
  readonly #parts: ReconciliationParts
  readonly #everyMs: number
  readonly #ending = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #cancelTimer: () => void = () => undefined

  constructor(parts: ReconciliationParts, everyMs: number) {
    this.#parts = parts
    this.#everyMs = everyMs
  }

  start(): void {
    this.#sleepUntil(this.#parts.clock.now() + Math.min(this.#everyMs, FIRST_MS))
  }

  /** Ends after the question under way. */
  async stop(): Promise<void> {
    this.#ending.abort()
    this.#cancelTimer()
    await this.#running
  }

  #sleepUntil(due: number): void {
    const { clock } = this.#parts
    if (this.#ending.signal.aborted) return
    this.#cancelTimer = clock.after(waitFor(due, clock.now()), () => {
      if (clock.now() < due) return this.#sleepUntil(due)
      this.#running = this.#look().then(() => this.#sleepUntil(clock.now() + this.#everyMs))
    })
  }

  async #look(): Promise<void> {
    const { reconciler, logger } = this.#parts
    try {
      const { found, seen } = await reconciler.run({ onlyClusters: true, signal: this.#ending.signal })
      const tell = Object.keys(found).length === 0 ? 'info' : 'warn'
      logger[tell]({ found, seen }, 'what clusters elsewhere have was looked at')
    } catch (error) {
      if (this.#ending.signal.aborted) return
      logger.error({ err: error }, 'what clusters elsewhere have could not be reconciled')
    }
  }
}
