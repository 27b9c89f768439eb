import { isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import { nextTurn } from './turns.ts'
import { underName } from './work.ts'

/** Background work, which tests wait for. */
export interface Settling {
  /** Returns the names of the work that runs or is due. */
  unsettled(): Promise<string[]>
}

/** Returns the names of all the work of `parts` that runs or is due. */
export async function unsettled(parts: ReadonlyArray<Partial<Settling> | null | undefined>): Promise<string[]> {
  return (await Promise.all(parts.map(part => part?.unsettled?.() ?? []))).flat()
}

export interface WokenWorkOptions {
  /** Name in the warnings of the event-loop watch. */
  name: string
  /** Returns whether there is something to do. Default: only a wake tells. */
  isDue?: () => Promise<boolean>
  /** Called after a failure, unless the work was stopped. */
  failed: (err: unknown) => void
}

/** Work that somebody wakes when there may be something to do. It runs once at a time, until it is stopped. */
export class WokenWork implements Settling {
  readonly #run: (signal: AbortSignal) => Promise<void>
  readonly #options: WokenWorkOptions
  readonly #ending = new AbortController()
  #isWanted = false
  #running: Promise<void> | null = null

  constructor(run: (signal: AbortSignal) => Promise<void>, options: WokenWorkOptions) {
    this.#run = run
    this.#options = options
  }

  get isStopped(): boolean {
    return this.#ending.signal.aborted
  }

  /** Starts a run in a later turn. Calls before its start have no effect. A call during a run schedules one more run. */
  wake(): void {
    if (this.isStopped) return
    this.#isWanted = true
    this.#running ??= underName(this.#options.name, () => this.#all())
  }

  /** Resolves when no run is wanted. */
  async settled(): Promise<void> {
    while (this.#running !== null) await this.#running
  }

  async unsettled(): Promise<string[]> {
    const { name, isDue } = this.#options
    if (this.isStopped) return []
    return this.#running !== null || (await isDue?.()) ? [name] : []
  }

  /** Aborts the signal of the run, and waits for its end. A run that stops its own work must not await this. */
  async stop(): Promise<void> {
    this.#ending.abort()
    await this.#running
  }

  async #all(): Promise<void> {
    while (this.#isWanted && !this.isStopped) {
      await nextTurn()
      if (this.isStopped) break
      this.#isWanted = false
      try {
        await this.#run(this.#ending.signal)
      } catch (err) {
        if (!this.isStopped) this.#options.failed(err)
      }
    }
    this.#running = null
  }
}

/** Returns a function that logs a failure as a warning, except of a database or node that is down. */
export function warned(logger: Logger, text: string): (err: unknown) => void {
  return err => {
    if (!isHoldfastError(err, 'UNAVAILABLE')) logger.warn({ err }, text)
  }
}
