import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { HoldfastError } from '../domain/errors.ts'
import type { ThreadAnswer, ThreadTask } from './block-thread.ts'

type Task = ThreadTask extends infer T ? (T extends ThreadTask ? Omit<T, 'id'> : never) : never

interface Pending {
  resolve: (digest: Uint8Array | null) => void
  reject: (error: Error) => void
}

interface Thread {
  worker: Worker
  pending: Map<number, Pending>
}

/** One for each core; more than a few would only cost memory, about 18 MB each. */
const COUNT = Math.min(Math.max(availableParallelism(), 2), 4)
/** The bytes are shared memory, so the thread's own heap holds next to nothing. */
const SMALL_HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }

/** As a source file under Node, as its compiled neighbour in the package. */
const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './block-thread.ts' : './block-thread.js', import.meta.url)

/**
 * Threads that hash and write whole chunks. A chunk lies in shared memory, so nothing is copied, and each step is
 * one message instead of half a dozen trips through libuv's pool, which stays free for reads. Threads start with
 * the first chunk, and keep the process alive only while they are at work.
 */
export class BlockThreads {
  readonly #threads: Thread[] = []
  #lastId = 0
  #stopped = false

  /** The SHA-256 digest of `bytes`, which are in shared memory from its start. */
  async hash(bytes: Uint8Array<SharedArrayBuffer>): Promise<Uint8Array> {
    const digest = await this.#run({ kind: 'hash', memory: bytes.buffer, length: bytes.length })
    if (digest === null) throw new HoldfastError('INTERNAL_ERROR', 'a thread returned no digest')
    return digest
  }

  /** Writes `bytes` to `temp`, syncs them, and renames the file to `path`. Fails with the error of `node:fs`. */
  async write(temp: string, path: string, bytes: Uint8Array<SharedArrayBuffer>): Promise<void> {
    await this.#run({ kind: 'write', memory: bytes.buffer, length: bytes.length, temp, path })
  }

  /** Ends the threads; what they were doing fails. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#threads.map(thread => thread.worker.terminate()))
  }

  #run(task: Task): Promise<Uint8Array | null> {
    if (this.#stopped) return Promise.reject(new HoldfastError('UNAVAILABLE', 'the node is stopping'))
    const thread = this.#idlest()
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      // A thread at work keeps the process alive, as file operations do; an idle one does not.
      if (thread.pending.size === 0) thread.worker.ref()
      thread.pending.set(id, { resolve, reject })
      thread.worker.postMessage({ ...task, id })
    })
  }

  #idlest(): Thread {
    const idlest = this.#threads.reduce<Thread | null>(
      (best, thread) => (best === null || thread.pending.size < best.pending.size ? thread : best),
      null,
    )
    if (idlest !== null && (idlest.pending.size === 0 || this.#threads.length === COUNT)) return idlest
    return this.#start()
  }

  #start(): Thread {
    // The program's own flags may be none for a thread: one that was started by `node --eval`, say.
    const worker = new Worker(ENTRY, { name: 'holdfast-blocks', resourceLimits: SMALL_HEAP, execArgv: [] })
    const thread: Thread = { worker, pending: new Map() }
    this.#threads.push(thread)
    worker.unref()
    worker.on('message', (answer: ThreadAnswer) => {
      const pending = thread.pending.get(answer.id)
      thread.pending.delete(answer.id)
      if (thread.pending.size === 0) worker.unref()
      if ('error' in answer) pending?.reject(Object.assign(answer.error, { code: answer.code }))
      else pending?.resolve(answer.digest)
    })
    const fail = (cause: unknown): void => {
      const index = this.#threads.indexOf(thread)
      if (index !== -1) this.#threads.splice(index, 1)
      const error = new HoldfastError('UNAVAILABLE', 'a thread that writes blocks has ended', { cause })
      for (const pending of thread.pending.values()) pending.reject(error)
      thread.pending.clear()
    }
    worker.on('error', fail)
    worker.on('exit', fail)
    return thread
  }
}

/** Whether bytes are a chunk in shared memory, which threads can take. */
export function isShared(bytes: Uint8Array): bytes is Uint8Array<SharedArrayBuffer> {
  return bytes.buffer instanceof SharedArrayBuffer && bytes.byteOffset === 0
}
