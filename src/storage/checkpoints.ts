import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { CheckpointAnswer } from './checkpoint-thread.ts'

/** As a source file under Node, as its compiled neighbour in the package. */
const ENTRY = new URL(
  import.meta.url.endsWith('.ts') ? './checkpoint-thread.ts' : './checkpoint-thread.js',
  import.meta.url,
)
/** Pages are SQLite's memory; the thread's own heap holds next to nothing. */
const SMALL_HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }

/**
 * Checkpoints of one database by a thread with a connection of its own: they write and sync thousands of pages, for
 * which no event loop should wait. The thread starts with the first; whoever makes this stops it, before the database
 * is closed.
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
   * Moves what is in the log by now into the database, as far as no reader is in the way. One at a time.
   *
   * @throws SQLite's error with its `code`; an error without one if the thread has ended
   */
  async run(): Promise<void> {
    if (this.#stopped) return
    this.#worker ??= this.#start()
    const worker = this.#worker
    this.#waiting = Promise.withResolvers()
    // A thread at work keeps the process alive; an idle one does not.
    worker.ref()
    worker.postMessage('checkpoint')
    await this.#waiting.promise.finally(() => worker.unref())
  }

  /** Resolves when the one under way has ended, and the thread. */
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
      this.#waiting?.reject(new Error('the thread of checkpoints has ended', { cause }))
    }
    worker.on('error', fail)
    worker.on('exit', fail)
    return worker
  }
}
