import { HoldfastError } from '../domain/errors.ts'

export class Activity {
  readonly #running = new Set<Promise<unknown>>()
  readonly #stop = new AbortController()

  /**
   * Runs `work` with a signal that aborts when the caller's signal aborts or the engine stops.
   * @throws HoldfastError `UNAVAILABLE` if the engine is already stopping
   */
  async run<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#stop.signal.aborted) throw new HoldfastError('UNAVAILABLE', 'the node is stopping')
    const joined = signal === undefined ? this.#stop.signal : AbortSignal.any([signal, this.#stop.signal])
    const running = work(joined)
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort(new HoldfastError('ABORTED', 'the node is stopping'))
    await Promise.allSettled(this.#running)
  }
}
