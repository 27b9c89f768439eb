import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { CheckpointAnswer } from './checkpoint-thread.ts'

const ENTRY = new URL(
  import.meta.url.endsWith('.ts') ? './checkpoint-thread.ts' : './checkpoint-thread.js',
  import.meta.url,
)
/** Small limits suffice, because SQLite stores its pages outside the heap. */
const SMALL_HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }

/**
 * Runs the checkpoints of one database in a thread, so that they do not block the event loop.
 * The creator calls {@link stop} before closing the database.
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
   * Copies the log into the database, up to the first page that a reader still needs. Must not run concurrently.
   *
   * @throws the error of SQLite with its `code`; an error without `code` if the thread has ended
   */
  async run(): Promise<void> {
    if (this.#stopped) return
    this.#worker ??= this.#start()
    const worker = this.#worker
    this.#waiting = Promise.withResolvers()
    // The thread keeps the process alive only during a checkpoint.
    worker.ref()
    worker.postMessage('checkpoint')
    await this.#waiting.promise.finally(() => worker.unref())
  }

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
