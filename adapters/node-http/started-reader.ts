import { Worker } from 'node:worker_threads'
import type { Logger, Metrics, SharedReading } from '../../src/index.ts'
import { BEATS, type ReaderData, type ReaderOrder, type ReaderTold, THREAD } from './reader-messages.ts'
import { statOf, ThreadTime } from './thread-time.ts'

/** A source file under Node; in the package the compiled one beside it. */
const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './reader-thread.ts' : './reader-thread.js', import.meta.url)
/** Blocks are outside of the heap. The young generation is small, as that of the process, for the same reason. */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 12 }
/** Longest time that an event loop may stand still before its thread is replaced, without waits for a processor. */
const HANG_MS = 5_000
/** The same limit during the start, which loads all modules. */
const START_MS = 60_000

/** Receivers of a reader's reports. */
export interface ReaderListeners {
  logger: Logger
  metrics: (Pick<Metrics, 'request'> & { sent(surface: 'gateway', bytes: number): void }) | undefined
  onReady: (reader: ReaderThread) => void
  onListening: (reader: ReaderThread) => void
  onEnd: (reader: ReaderThread) => void
}

interface ReaderMeans {
  entry?: URL | undefined
  /** Reads the `stat` of a thread. */
  stat?: typeof statOf
  /** Largest heap, up to 256 MiB. */
  heapBytes?: number
}

/** A reader, as seen by the main thread. */
export class ReaderThread {
  readonly #worker: Worker
  readonly #beats: Int32Array
  readonly #time: ThreadTime
  readonly #logger: Logger
  /** Resolves when the thread has ended. */
  readonly ended: Promise<void>
  isListening = false
  /** Milliseconds since the epoch. */
  listeningSince = Number.POSITIVE_INFINITY
  #isReady = false
  #lastBeat = 0
  #silentMs = 0

  /** The thread closes its reading when it ends. */
  constructor(
    reading: SharedReading,
    data: Pick<ReaderData, 'host' | 'port' | 'sharesPort' | 'maxConnections'>,
    { logger, metrics, onReady, onListening, onEnd }: ReaderListeners,
    { entry = ENTRY, stat = statOf, heapBytes = Number.POSITIVE_INFINITY }: ReaderMeans = {},
  ) {
    this.#logger = logger
    this.#beats = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))
    this.#time = new ThreadTime(() => stat(Atomics.load(this.#beats, THREAD)))
    const { data: shared, port } = reading
    const workerData: ReaderData = { ...data, reading: { data: shared, port }, beats: this.#beats }
    this.#worker = new Worker(entry, {
      name: 'holdfast-reader',
      workerData,
      transferList: [port],
      resourceLimits: { ...HEAP, maxOldGenerationSizeMb: Math.min(heapBytes / 1024 ** 2, HEAP.maxOldGenerationSizeMb) },
      execArgv: [],
    })
    // Ends with the process, without keeping it alive.
    this.#worker.unref()
    this.#worker.on('message', (all: ReaderTold[]) => {
      for (const told of all) {
        if (told.kind === 'line') logger[told.level](told.fields, told.message)
        else if (told.kind === 'request') metrics?.request(told.observation)
        else if (told.kind === 'sent') metrics?.sent('gateway', told.bytes)
        else if (told.kind === 'ready') {
          this.#isReady = true
          onReady(this)
        } else {
          this.isListening = true
          this.listeningSince = Date.now()
          onListening(this)
        }
      }
    })
    this.#worker.on('error', err => logger.error({ err }, 'gateway thread failed'))
    this.ended = new Promise(resolve => {
      this.#worker.once('exit', () => {
        this.isListening = false
        reading.end()
        resolve()
        onEnd(this)
      })
    })
  }

  listen(): void {
    this.#worker.postMessage({ kind: 'listen' } satisfies ReaderOrder)
  }

  /** Ends the thread when its requests have ended, and after `ms` at the latest. */
  async end(ms: number, graceMs: number): Promise<void> {
    this.#worker.ref()
    this.#worker.postMessage({ kind: 'end', ms } satisfies ReaderOrder)
    const late = setTimeout(() => void this.#worker.terminate(), ms + graceMs)
    await this.ended
    clearTimeout(late)
  }

  /** Ends the thread if its event loop stands still. `elapsedMs`: time during which the main thread itself ran. */
  look(elapsedMs: number): void {
    const beat = Atomics.load(this.#beats, BEATS)
    this.#silentMs = beat === this.#lastBeat ? this.#silentMs + this.#time.since(elapsedMs) : 0
    this.#lastBeat = beat
    if (this.#silentMs < (this.#isReady ? HANG_MS : START_MS)) return
    this.#silentMs = 0
    this.#logger.error({ ms: HANG_MS }, 'gateway thread hangs, replacing it')
    void this.#worker.terminate()
  }
}
