import { type Settling, WokenWork } from '../concurrency/woken-work.ts'
import { type Clock, isPast, waitFor } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'

export interface DueLoadParts {
  /** Name in the log and in the warnings of the event-loop watch. */
  name: string
  /** Returns when the first work is due, in ms since the epoch; null without work. */
  dueAt(): Promise<number | null>
  /** Loads and starts what does the work. */
  load(): Promise<unknown>
  clock: Clock
  logger: Logger
}

/** Time until the next look after a failure. */
const RECHECK_MS = 1_000

/** Loads code when its first work is due. Until then, the code takes no memory. */
export class DueLoad implements Settling {
  readonly #parts: DueLoadParts
  readonly #looks: WokenWork
  #cancelTimer: () => void = () => undefined

  constructor(parts: DueLoadParts) {
    this.#parts = parts
    const { name, dueAt, clock, logger } = parts
    const failed = (err: unknown): void => {
      logger.error({ err, jobs: name }, 'reading due jobs failed')
      this.#lookAt(clock.now() + RECHECK_MS)
    }
    const isDue = async (): Promise<boolean> => isPast(await dueAt(), clock.now())
    this.#looks = new WokenWork(() => this.#look(), { name, isDue, failed })
  }

  /** Looks for due work. Further calls before the look have no effect, nor has a call after the load. */
  wake(): void {
    this.#looks.wake()
  }

  unsettled(): Promise<string[]> {
    return this.#looks.unsettled()
  }

  /** Ends the looks, and waits for a load in progress. */
  async stop(): Promise<void> {
    this.#cancelTimer()
    await this.#looks.stop()
  }

  async #look(): Promise<void> {
    const { dueAt, load, clock } = this.#parts
    const next = await dueAt()
    if (!isPast(next, clock.now()) || this.#looks.isStopped) return this.#lookAt(next)
    await load()
    void this.stop()
  }

  #lookAt(next: number | null): void {
    this.#cancelTimer()
    if (this.#looks.isStopped) return
    const { clock } = this.#parts
    this.#cancelTimer = clock.after(waitFor(next, clock.now()), () => this.wake())
  }
}
