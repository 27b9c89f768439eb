/** Resolves after `ms`. */
export function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/** Aborts its signal after a time without progress. The timer runs only between `start` and `stop`. */
export class IdleTimer {
  readonly #controller = new AbortController()
  readonly #ms: number
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param ms time after which the signal aborts; 0 for never */
  constructor(ms: number) {
    this.#ms = ms
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  start(): void {
    this.stop()
    if (this.#ms === 0 || this.signal.aborted) return
    const error = new Error(`no sign of life for ${this.#ms / 1_000} seconds`)
    this.#timer = setTimeout(() => this.#controller.abort(error), this.#ms)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  abort(reason?: unknown): void {
    this.stop()
    this.#controller.abort(reason)
  }
}
