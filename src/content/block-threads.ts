import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { HoldfastError } from '../domain/errors.ts'
import type { ThreadAnswer, ThreadTask } from './block-thread.ts'

/** What one chunk of the pool holds: that of the profile `unixfs-v1-2025` (IPIP-499), and any block but the rarest. */
export const CHUNK_BYTES = 1024 ** 2
/** Several uploads at full speed, each with a window of eight chunks on their way and as many being hashed. */
const CHUNKS = 64

interface Waiting {
  give: (chunk: SharedArrayBuffer) => void
}

/**
 * Shared memory that threads can take without a copy. Shared memory that a thread has seen is not given back to the
 * system while the thread lives, so it is made once and used again: never more than `capacity` chunks exist.
 *
 * A chunk is known by the view that was handed out, and comes back once: a second release of the same view, or that of
 * other memory, does nothing.
 */
export class ChunkPool {
  readonly #capacity: number
  readonly #free: SharedArrayBuffer[] = []
  /** The view that each chunk was handed out as. */
  readonly #out = new Map<ArrayBufferLike, Uint8Array>()
  /** In the order of asking; an upload asks for one at a time, so they take turns. */
  readonly #waiting = new Set<Waiting>()
  #made = 0

  /** @param capacity chunks of {@link CHUNK_BYTES} that there may be */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Chunks that exist. */
  get made(): number {
    return this.#made
  }

  /** Chunks that have been handed out and have not come back. */
  get outstanding(): number {
    return this.#out.size
  }

  /** Those who wait for a chunk. */
  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * A chunk to be filled by a source of any pace; null while half of them are out, so that slow sources never keep
   * all of them. Whoever gets null fills memory of its own, and has it moved by {@link move} when it is whole.
   *
   * @param length of the view, at most {@link CHUNK_BYTES}
   */
  spare(length: number = CHUNK_BYTES): Buffer | null {
    if (this.#waiting.size > 0 || this.#out.size * 2 >= this.#capacity) return null
    return this.#hand(this.#take(), length)
  }

  /** Copies bytes into a chunk, once there is one. @throws the signal's reason */
  async move(bytes: Uint8Array, signal?: AbortSignal): Promise<Buffer> {
    const isFree = this.#waiting.size === 0 && this.#out.size < this.#capacity
    const chunk = isFree ? this.#hand(this.#take(), bytes.length) : await this.#next(bytes.length, signal)
    chunk.set(bytes)
    return chunk
  }

  /** Takes a chunk back; nothing may read or write it afterwards. */
  release(chunk: Uint8Array): void {
    const { buffer } = chunk
    if (this.#out.get(buffer) !== chunk || !(buffer instanceof SharedArrayBuffer)) return
    this.#out.delete(buffer)
    const [next] = this.#waiting
    if (next === undefined) this.#free.push(buffer)
    else next.give(buffer)
  }

  #take(): SharedArrayBuffer {
    const free = this.#free.pop()
    if (free !== undefined) return free
    this.#made++
    // What may grow, if only to this size, begins with a page of memory, and disks take whole pages without a copy.
    return new SharedArrayBuffer(CHUNK_BYTES, { maxByteLength: CHUNK_BYTES })
  }

  #hand(memory: SharedArrayBuffer, length: number): Buffer {
    const chunk = Buffer.from(memory, 0, length)
    this.#out.set(memory, chunk)
    return chunk
  }

  #next(length: number, signal?: AbortSignal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason)
      const leave = (): void => {
        this.#waiting.delete(waiting)
        signal?.removeEventListener('abort', onAbort)
      }
      const onAbort = (): void => {
        leave()
        reject(signal?.reason)
      }
      const waiting: Waiting = {
        give: memory => {
          leave()
          resolve(this.#hand(memory, length))
        },
      }
      this.#waiting.add(waiting)
      signal?.addEventListener('abort', onAbort)
    })
  }
}

/** The one pool of the process: what threads have seen stays, whichever engine they belong to. */
export const chunkPool = new ChunkPool(CHUNKS)

/** Bytes of memory that a block keeps while it is on its way: a chunk is kept whole, however little of it is used. */
export function memoryOf({ buffer, length }: Uint8Array): number {
  return buffer instanceof SharedArrayBuffer ? buffer.byteLength : length
}

/** Whether bytes are a chunk in shared memory, which threads can take. */
export function isShared(bytes: Uint8Array): bytes is Uint8Array<SharedArrayBuffer> {
  return bytes.buffer instanceof SharedArrayBuffer && bytes.byteOffset === 0
}

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
