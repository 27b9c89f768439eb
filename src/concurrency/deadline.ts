import type { Clock } from '../domain/clock.ts'

export interface DeadlineOptions {
  clock: Clock
  /** How long, in milliseconds, may go by until something moves, or all is done. */
  ms: number
  /** What it is over by, if it is: an error. */
  late: () => unknown
  /** Ends the deadline's signal as well, with its own reason. */
  signal?: AbortSignal | undefined
}

/** A signal that aborts when nothing has moved for too long, and with another one. Whoever makes it puts it to rest. */
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

  /** Whether it was time that ended it. */
  get isOver(): boolean {
    return this.#late.signal.aborted
  }

  /** The time begins anew. */
  moved(): void {
    this.#cancel()
    const { clock, ms, late } = this.#options
    this.#cancel = clock.after(ms, () => this.#late.abort(late()))
  }

  /** Nothing is waited for until something moves again; in the end, for good. */
  rest(): void {
    this.#cancel()
  }
}

/** Does something within a time. @throws what `late` says once that is over, if whatever is done heeds its signal */
export async function within<T>(options: DeadlineOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = new Deadline(options)
  try {
    return await work(deadline.signal)
  } finally {
    deadline.rest()
  }
}
