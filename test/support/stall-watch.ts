import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { BEAT, HEARD, LONGEST_MS, READY, STOP } from './stall-watch-thread.ts'

const BEAT_MS = 10
const THREAD = new URL('./stall-watch-thread.ts', import.meta.url)

/**
 * Watches the event loop of this thread from another one. A timer increments a number in shared memory, and the watcher
 * measures how long it stays the same.
 *
 * It sees a loop blocked by a long computation, and one starved by microtasks, which a histogram of the loop's delay
 * misses.
 */
export class StallWatch implements AsyncDisposable {
  readonly #state: Int32Array<SharedArrayBuffer>
  readonly #worker: Worker
  readonly #heart: NodeJS.Timeout

  private constructor(state: Int32Array<SharedArrayBuffer>, worker: Worker) {
    this.#state = state
    this.#worker = worker
    this.#heart = setInterval(() => Atomics.add(state, BEAT, 1), BEAT_MS).unref()
  }

  /**
   * Resolves when the watch is running. The caller disposes of it.
   *
   * @param report a file that receives the longest stall so far, even during the stall, for another process to read
   */
  static async start(report?: string): Promise<StallWatch> {
    const state = new Int32Array(new SharedArrayBuffer(8 * Int32Array.BYTES_PER_ELEMENT))
    const worker = new Worker(THREAD, { name: 'stall-watch', workerData: { state, report }, execArgv: [] })
    worker.unref()
    const watch = new StallWatch(state, worker)
    await Promise.race([
      once(worker, 'message'),
      once(worker, 'exit').then(() => {
        throw new Error('the thread that watches for stalls has ended')
      }),
    ])
    if (Atomics.load(state, READY) !== 1) throw new Error('the thread that watches for stalls is not ready')
    return watch
  }

  /** The longest stall since the last {@link reset}. */
  get longestMs(): number {
    return Atomics.load(this.#state, LONGEST_MS)
  }

  /** Number of heartbeats the watcher has seen. It proves that the watcher runs. */
  get heard(): number {
    return Atomics.load(this.#state, HEARD)
  }

  /** Forgets the stalls so far. */
  reset(): void {
    Atomics.add(this.#state, BEAT, 1)
    Atomics.store(this.#state, LONGEST_MS, 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#heart)
    Atomics.store(this.#state, STOP, 1)
    Atomics.notify(this.#state, STOP)
    await this.#worker.terminate()
  }
}
