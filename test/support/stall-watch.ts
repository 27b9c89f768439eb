import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { BEAT, HEARD, LONGEST_MS, READY, STOP } from './stall-watch-thread.ts'

/** How often the loop says that it is alive. */
const BEAT_MS = 10
const THREAD = new URL('./stall-watch-thread.ts', import.meta.url)

/**
 * Watches the event loop of this thread from another one: a timer of the loop moves a number in shared memory, and
 * the thread looks how long it stands still. So it sees a loop that is held by one long computation, and also one
 * that is starved by microtasks, which a histogram of the loop's delay does not. What the loop waits for a core of a busy
 * machine is no stall.
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
   * Resolves when it watches. The caller disposes of it.
   *
   * @param report a file to which the longest stall so far is written while it lasts, for another process to read
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

  /** The longest time, in milliseconds, that the loop has stood still since the last {@link reset}. */
  get longestMs(): number {
    return Atomics.load(this.#state, LONGEST_MS)
  }

  /** Beats that the watcher has seen: proof that it watches. */
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
