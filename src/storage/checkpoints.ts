import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { CheckpointAnswer } from './checkpoint-thread.ts'

/** Entry of the thread: TypeScript in the repository, JavaScript in the package. */
const ENTRY = new URL(
  import.meta.url.endsWith('.ts') ? './checkpoint-thread.ts' : './checkpoint-thread.js',
  import.meta.url,
)
/** SQLite's pages are outside the heap of the thread, which is nearly empty. */
const SMALL_HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }

/**
 * Runs the checkpoints of one database in a thread with its own connection. A checkpoint writes and syncs thousands of
 * pages, which would block the event loop. The first checkpoint starts the thread. The creator stops it before the
 * database is closed.
 */
export class Checkpoints {
  readonly #file: string
  #worker: Worker | null = null
  #waiting: PromiseWithResolvers<void> | null = null
  #stopped = false

  constructor(file: string) {
    this.#file = file
  }

  /**
   * Moves the present log into the database, up to the first page that a reader needs. Not reentrant.
   *
   * @throws SQLite's error with its `code`; an error without one if the thread has ended
   */
  async run(): Promise<void> {
    if (this.#stopped) return
    this.#worker ??= this.#start()
    const worker = this.#worker
    this.#waiting = Promise.withResolvers()
    // Only a working thread keeps the process alive.
    worker.ref()
    worker.postMessage('checkpoint')
    await this.#waiting.promise.finally(() => worker.unref())
  }

  /** Waits for the running checkpoint, and ends the thread. */
  async stop(): Promise<void> {
    this.#stopped = true
    const worker = this.#worker
    if (worker === null) return
    const ended = once(worker, 'exit')
    worker.ref()
    worker.postMessage(null)
    await ended.catch(() => undefined)
  }

  #start(): Worker {
    const options = { name: 'holdfast-checkpoints', workerData: this.#file, resourceLimits: SMALL_HEAP, execArgv: [] }
    const worker = new Worker(ENTRY, options)
    worker.on('message', ({ error }: CheckpointAnswer) => {
      if (error === undefined) this.#waiting?.resolve()
      else this.#waiting?.reject(Object.assign(new Error(error.message), { code: error.code }))
    })
    const fail = (cause: unknown): void => {
      if (this.#worker === worker) this.#worker = null
      this.#waiting?.reject(new Error('the checkpoint thread has ended', { cause }))
    }
    worker.on('error', fail)
    worker.on('exit', fail)
    return worker
  }
}
