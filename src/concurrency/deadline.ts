import type { Clock } from '../domain/clock.ts'

export interface DeadlineOptions {
  clock: Clock
  /** Time without progress after which the deadline expires. */
  ms: number
  late: () => unknown
  signal?: AbortSignal | undefined
}

/**
 * A signal that aborts after a time without progress, or with another signal. The owner must call {@link rest} when the
 * work ends.
 */
export class Deadline {
  readonly signal: AbortSignal
  readonly #options: DeadlineOptions
  readonly #late = new AbortController()
  #cancel: () => void = () => undefined

  constructor(options: DeadlineOptions) {
    this.#options = options
    const { signal } = options
    this.signal = signal === undefined ? this.#late.signal : AbortSignal.any([signal, this.#late.signal])
    this.moved()
  }

  get isOver(): boolean {
    return this.#late.signal.aborted
  }

  /** Restarts the time. The owner calls this method whenever the work has made progress. */
  moved(): void {
    this.#cancel()
    const { clock, ms, late } = this.#options
    this.#cancel = clock.after(ms, () => this.#late.abort(late()))
  }

  /** Stops the time until the next call of {@link moved}. */
  rest(): void {
    this.#cancel()
  }
}

/** Runs work within a time limit. The work must obey its signal. @throws the error of `late` if the limit expires */
export async function within<T>(options: DeadlineOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = new Deadline(options)
  try {
    return await work(deadline.signal)
  } finally {
    deadline.rest()
  }
}
