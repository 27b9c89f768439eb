import { isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'

/** Work that somebody wakes when there may be something to do. It runs once at a time, until it is stopped. */
export class WokenWork {
  readonly #run: (signal: AbortSignal) => Promise<void>
  readonly #logger: Logger
  readonly #failed: string
  readonly #ending = new AbortController()
  #isWanted = false
  #running: Promise<void> | null = null

  /** @param failed the message of the warning after a failure. A database or node that is down causes no warning. */
  constructor(run: (signal: AbortSignal) => Promise<void>, { logger, failed }: { logger: Logger; failed: string }) {
    this.#run = run
    this.#logger = logger
    this.#failed = failed
  }

  /** Starts a run. A call during a run schedules one more run. */
  wake(): void {
    if (this.#ending.signal.aborted) return
    this.#isWanted = true
    this.#running ??= this.#all()
  }

  /** Aborts the signal of the run, and waits for its end. */
  async stop(): Promise<void> {
    this.#ending.abort()
    await this.#running
  }

  async #all(): Promise<void> {
    const { signal } = this.#ending
    while (this.#isWanted && !signal.aborted) {
      this.#isWanted = false
      try {
        await this.#run(signal)
      } catch (err) {
        if (!signal.aborted && !isHoldfastError(err, 'UNAVAILABLE')) this.#logger.warn({ err }, this.#failed)
      }
    }
    this.#running = null
  }
}
