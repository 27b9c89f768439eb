import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { HoldfastError } from '../domain/errors.ts'
import type { ThreadAnswer, ThreadTask } from './block-thread.ts'

/** Size of a chunk of the pool: that of the profile `unixfs-v1-2025` (IPIP-499), which fits nearly every block. */
export const CHUNK_BYTES = 1024 ** 2
/** Room for several uploads at full speed, each with eight chunks being written and eight being hashed. */
const CHUNKS = 64
/** Room for one upload at full speed. */
const FEWEST_CHUNKS = 8

interface Waiting {
  give: (chunk: SharedArrayBuffer) => void
}

/**
 * Pool of shared memory that threads can take without a copy. The system gets such memory back only when the thread
 * ends, so chunks are reused: at most `capacity` exist.
 *
 * The view that was handed out identifies a chunk. A second release of the same view, or of other memory, does nothing.
 */
export class ChunkPool {
  #capacity: number
  readonly #free: SharedArrayBuffer[] = []
  /** The view handed out for each chunk. */
  readonly #out = new Map<ArrayBufferLike, Uint8Array>()
  /** Callers in order. An upload waits for one chunk at a time, so uploads take turns. */
  readonly #waiting = new Set<Waiting>()
  #made = 0

  /** @param capacity limit of chunks of {@link CHUNK_BYTES} */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Lowers the limit of chunks, which outlasts the caller. At least eight remain. */
  limitTo(capacity: number): void {
    this.#capacity = Math.min(this.#capacity, Math.max(FEWEST_CHUNKS, Math.floor(capacity)))
  }

  /** Number of allocated chunks. */
  get made(): number {
    return this.#made
  }

  /** Number of chunks in use. */
  get outstanding(): number {
    return this.#out.size
  }

  /** Number of callers that wait for a chunk. */
  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Returns a chunk for a source of any speed; null while half of them are in use, so that slow sources cannot take
   * all. After null the caller fills memory of its own, and calls {@link move} once it is full.
   *
   * @param length of the view, at most {@link CHUNK_BYTES}
   */
  spare(length: number = CHUNK_BYTES): Buffer | null {
    if (this.#waiting.size > 0 || this.#out.size * 2 >= this.#capacity) return null
    return this.#hand(this.#take(), length)
  }

  /** Copies bytes into a chunk; waits for a free one. @throws the signal's reason */
  async move(bytes: Uint8Array, signal?: AbortSignal): Promise<Buffer> {
    const isFree = this.#waiting.size === 0 && this.#out.size < this.#capacity
    const chunk = isFree ? this.#hand(this.#take(), bytes.length) : await this.#next(bytes.length, signal)
    chunk.set(bytes)
    return chunk
  }

  /** Returns a chunk to the pool; nothing may read or write it afterwards. */
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
    // A growable buffer, even one at its limit, starts at a memory page, and disks take whole pages without a copy.
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

/** The pool of the process. Engines share it, since memory that threads have seen is not freed. */
export const chunkPool = new ChunkPool(CHUNKS)

/** Returns the memory that a block occupies in bytes: the whole chunk, even for a small block. */
export function memoryOf({ buffer, length }: Uint8Array): number {
  return buffer instanceof SharedArrayBuffer ? buffer.byteLength : length
}

/** Returns true if the bytes are a chunk in shared memory, which threads can take. */
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

/** Number of threads: one for each core, from 2 to 4, since each costs about 18 MB. */
const COUNT = Math.min(Math.max(availableParallelism(), 2), 4)
/** The bytes are in shared memory, so the thread's heap is nearly empty. */
const SMALL_HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }

/** Entry of the thread: TypeScript in the repository, JavaScript in the package. */
const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './block-thread.ts' : './block-thread.js', import.meta.url)

/**
 * Threads that hash and write whole chunks. A chunk is shared memory, so nothing is copied. One message replaces six
 * calls of libuv's pool, which stays free for reads. Threads start with the first chunk, and only working ones keep the
 * process alive.
 */
export class BlockThreads {
  readonly #threads: Thread[] = []
  #lastId = 0
  #stopped = false

  /** Returns the SHA-256 digest of `bytes`, which must start at offset 0 of shared memory. */
  async hash(bytes: Uint8Array<SharedArrayBuffer>): Promise<Uint8Array> {
    const digest = await this.#run({ kind: 'hash', memory: bytes.buffer, length: bytes.length })
    if (digest === null) throw new HoldfastError('INTERNAL_ERROR', 'a thread returned no digest')
    return digest
  }

  /** Writes `bytes` to `temp`, syncs the file, and renames it to `path`. Throws the error of `node:fs`. */
  async write(temp: string, path: string, bytes: Uint8Array<SharedArrayBuffer>): Promise<void> {
    await this.#run({ kind: 'write', memory: bytes.buffer, length: bytes.length, temp, path })
  }

  /** Ends the threads; their tasks fail. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#threads.map(thread => thread.worker.terminate()))
  }

  #run(task: Task): Promise<Uint8Array | null> {
    if (this.#stopped) return Promise.reject(new HoldfastError('UNAVAILABLE', 'the node is stopping'))
    const thread = this.#idlest()
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      // Only a working thread keeps the process alive, as file operations do.
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
    // Flags of the process may be invalid for a thread, such as those of `node --eval`.
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
