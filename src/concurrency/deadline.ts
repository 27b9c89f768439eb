import type { Clock } from '../domain/clock.ts'

export interface DeadlineOptions {
  clock: Clock
  /** Milliseconds without progress after which the deadline expires. */
  ms: number
  /** Returns the error of an expired deadline. */
  late: () => unknown
  /** Aborts the deadline's signal as well, with its own reason. */
  signal?: AbortSignal | undefined
}

/**
 * A signal that aborts after too long without progress, or with another signal. Its owner calls {@link rest} at the
 * end.
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

  /** True once the deadline has run out. */
  get isOver(): boolean {
    return this.#late.signal.aborted
  }

  /** Starts the time anew. */
  moved(): void {
    this.#cancel()
    const { clock, ms, late } = this.#options
    this.#cancel = clock.after(ms, () => this.#late.abort(late()))
  }

  /** Stops the time until the next {@link moved}. */
  rest(): void {
    this.#cancel()
  }
}

/** Runs work within a time limit. @throws the error of `late` if the limit passes and the work obeys its signal */
export async function within<T>(options: DeadlineOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = new Deadline(options)
  try {
    return await work(deadline.signal)
  } finally {
    deadline.rest()
  }
}
