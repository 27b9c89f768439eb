import { HoldfastError } from '../../src/domain/errors.ts'

/** A wait of that many milliseconds. It may end early if the signal aborts. */
export type Wait = (ms: number, signal?: AbortSignal) => Promise<unknown>

/** Resolves after `ms`, or if the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = (): void => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
    resolve()
  }
  const timer = setTimeout(end, ms)
  signal?.addEventListener('abort', end)
  return promise
}

/** Waits `ms`. @throws HoldfastError `ABORTED` as soon as the signal aborts */
export async function waitFor(wait: Wait, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  const abort = (): void => resolve()
  signal?.addEventListener('abort', abort)
  try {
    if (signal?.aborted !== true) await Promise.race([wait(ms, signal), aborted])
  } finally {
    signal?.removeEventListener('abort', abort)
  }
  if (signal?.aborted === true) throw new HoldfastError('ABORTED', 'the wait was aborted', { cause: signal.reason })
}

/** A timer with a longer delay fires at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/** Aborts its signal after a time without progress. The timer runs only between `start` and `stop`. */
export class IdleTimer {
  readonly #controller = new AbortController()
  readonly #ms: number
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param ms time after which the signal aborts; 0 for never */
  constructor(ms: number) {
    this.#ms = Math.min(ms, LONGEST_DELAY_MS)
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
