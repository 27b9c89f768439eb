import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { Semaphore } from '../concurrency/capacity/semaphore.ts'
import { currentOwner } from '../concurrency/work.ts'
import { HoldfastError } from '../domain/errors.ts'
import { orAborted } from '../domain/sources.ts'
import type { ThreadAnswer, ThreadTask } from './block-thread.ts'

/** As in the profile `unixfs-v1-2025` (IPIP-499), so that nearly all blocks fit. */
export const CHUNK_BYTES = 1024 ** 2
/** An upload at full speed uses sixteen chunks: eight being hashed and eight being written. */
const CHUNKS = 64
/** Enough for one upload. */
const FEWEST_CHUNKS = 8

/**
 * Pool of shared memory that threads can use without a copy. Node.js frees memory that a thread has seen only when the
 * thread ends, so the pool reuses its chunks.
 */
export class ChunkPool {
  #capacity: number
  readonly #free: SharedArrayBuffer[] = []
  /** Views of the chunks in use, by memory. */
  readonly #out = new Map<ArrayBufferLike, Uint8Array>()
  /** Accounts take turns. An upload waits for one chunk at a time, so the uploads of one account take turns, too. */
  readonly #room = new Semaphore(() => this.#capacity)
  #made = 0

  /** @param capacity maximum number of chunks of {@link CHUNK_BYTES} */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  limitTo(capacity: number): void {
    this.#capacity = Math.min(this.#capacity, Math.max(FEWEST_CHUNKS, Math.floor(capacity)))
  }

  /** Number of allocated chunks. */
  get made(): number {
    return this.#made
  }

  get outstanding(): number {
    return this.#out.size
  }

  get waiting(): number {
    return this.#room.waiting
  }

  /**
   * Returns a free chunk, or null if half of the chunks are in use. The other half is reserved for {@link move}, so
   * that slow sources cannot occupy all chunks.
   *
   * @param length length of the view in bytes, up to {@link CHUNK_BYTES}
   */
  spare(length: number = CHUNK_BYTES): Buffer | null {
    if (this.#room.waiting > 0 || this.#room.used * 2 >= this.#capacity) return null
    this.#room.enter(currentOwner())
    return this.#take(length)
  }

  /**
   * Copies bytes into a chunk. Waits until a chunk is free.
   *
   * @throws the reason of the signal
   */
  async move(bytes: Uint8Array, signal?: AbortSignal): Promise<Buffer> {
    const { entered, leave } = this.#room.enter(currentOwner())
    try {
      if (entered !== null) await orAborted(entered, signal)
    } catch (error) {
      leave()
      throw error
    }
    const chunk = this.#take(bytes.length)
    chunk.set(bytes)
    return chunk
  }

  release(chunk: Uint8Array): void {
    const { buffer } = chunk
    if (this.#out.get(buffer) !== chunk || !(buffer instanceof SharedArrayBuffer)) return
    this.#out.delete(buffer)
    this.#free.push(buffer)
    this.#room.release(1)
  }

  #take(length: number): Buffer {
    const memory = this.#free.pop() ?? this.#make()
    const chunk = Buffer.from(memory, 0, length)
    this.#out.set(memory, chunk)
    return chunk
  }

  #make(): SharedArrayBuffer {
    this.#made++
    // A growable buffer starts at a memory page, so disks can write its pages without a copy. This one never grows.
    return new SharedArrayBuffer(CHUNK_BYTES, { maxByteLength: CHUNK_BYTES })
  }
}

/** Pool that all engines of the process share, because memory that threads have seen is not freed. */
export const chunkPool = new ChunkPool(CHUNKS)

/** Returns the size in bytes of the memory that a block occupies. A small block in a chunk occupies the whole chunk. */
export function memoryOf({ buffer, length }: Uint8Array): number {
  return buffer instanceof SharedArrayBuffer ? buffer.byteLength : length
}

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

/** One thread per core, but at least 2 and at most 4. Each thread needs about 18 MB. */
const COUNT = Math.min(Math.max(availableParallelism(), 2), 4)
/** The blocks are in shared memory, so the heap of a thread is nearly empty. */
const SMALL_HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }

/** The thread's module: TypeScript in the repository, JavaScript in the published package. */
const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './block-thread.ts' : './block-thread.js', import.meta.url)

/**
 * Worker threads that hash and write blocks in shared memory. One message to a thread replaces six calls of libuv's
 * pool, which stays free for reads. The first block starts the threads.
 */
export class BlockThreads {
  readonly #threads: Thread[] = []
  readonly #most: number
  #lastId = 0
  #stopped = false

  /** @param most maximum number of threads, at most one per core and four */
  constructor(most = COUNT) {
    this.#most = Math.min(most, COUNT)
  }

  /** Returns the SHA-256 digest of `bytes`, which must start at offset 0 of shared memory. */
  async hash(bytes: Uint8Array<SharedArrayBuffer>): Promise<Uint8Array> {
    const digest = await this.#run({ kind: 'hash', memory: bytes.buffer, length: bytes.length })
    if (digest === null) throw new HoldfastError('INTERNAL_ERROR', 'a thread returned no digest')
    return digest
  }

  /** @throws the error of `node:fs` */
  async write(temp: string, path: string, bytes: Uint8Array<SharedArrayBuffer>): Promise<void> {
    await this.#run({ kind: 'write', memory: bytes.buffer, length: bytes.length, temp, path })
  }

  /** Ends the threads. Unfinished tasks fail. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#threads.map(thread => thread.worker.terminate()))
  }

  #run(task: Task): Promise<Uint8Array | null> {
    if (this.#stopped) return Promise.reject(new HoldfastError('UNAVAILABLE', 'the node is stopping'))
    const thread = this.#idlest()
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      // A thread with tasks keeps the process alive, as pending file operations do.
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
    if (idlest !== null && (idlest.pending.size === 0 || this.#threads.length === this.#most)) return idlest
    return this.#start()
  }

  #start(): Thread {
    // Pass no flags of the process, because some are invalid for a thread, for example those of `node --eval`.
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
