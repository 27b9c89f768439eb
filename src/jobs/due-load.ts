import { nextTurn } from '../concurrency/turns.ts'
import { underName } from '../concurrency/work.ts'
import { type Clock, waitFor } from '../domain/clock.ts'
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
export class DueLoad {
  readonly #parts: DueLoadParts
  #looking: Promise<void> | null = null
  #isWanted = false
  #isDone = false
  #cancelTimer: () => void = () => undefined

  constructor(parts: DueLoadParts) {
    this.#parts = parts
  }

  /** Looks for due work. Further calls before the look have no effect, nor has a call after the load. */
  wake(): void {
    if (this.#isDone) return
    this.#isWanted = true
    this.#looking ??= underName(this.#parts.name, () => this.#look()).finally(() => {
      this.#looking = null
    })
  }

  /** Ends the looks, and waits for a load in progress. */
  async stop(): Promise<void> {
    this.#isDone = true
    this.#cancelTimer()
    await this.#looking
  }

  async #look(): Promise<void> {
    const { name, dueAt, load, clock, logger } = this.#parts
    let next: number | null = null
    while (this.#isWanted && !this.#isDone) {
      await nextTurn()
      this.#isWanted = false
      try {
        next = await dueAt()
        if (next === null || next > clock.now() || this.#isDone) continue
        await load()
        this.#isDone = true
      } catch (err) {
        if (!this.#isDone) logger.error({ err, jobs: name }, 'reading due jobs failed')
        next = clock.now() + RECHECK_MS
      }
    }
    this.#cancelTimer()
    if (!this.#isDone) this.#cancelTimer = clock.after(waitFor(next, clock.now()), () => this.wake())
  }
}
