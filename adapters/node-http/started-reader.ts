import { Worker } from 'node:worker_threads'
import { type Clock, systemClock } from '../../src/domain/clock.ts'
import type { Logger, Metrics, SharedReading } from '../../src/index.ts'
import { BEATS, type ReaderData, type ReaderOrder, type ReaderTold, THREAD } from './reader-messages.ts'
import { statOf, ThreadTime } from './thread-time.ts'

const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './reader-thread.ts' : './reader-thread.js', import.meta.url)
/** A small heap is enough, because blocks are stored outside the heap. */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 12 }
/** A thread whose event loop is blocked for this long is replaced. Waiting for a processor does not count. */
const HANG_MS = 5_000
/** The same while a takedown waits for the thread. */
const AWAITED_MS = 2_000
/** Higher than {@link HANG_MS}, because a starting thread loads all modules. */
const START_MS = 60_000

export interface ReaderListeners {
  logger: Logger
  metrics: (Pick<Metrics, 'request' | 'finished'> & { sent(surface: 'gateway', bytes: number): void }) | undefined
  onReady: (reader: ReaderThread) => void
  onListening: (reader: ReaderThread) => void
  onEnd: (reader: ReaderThread) => void
}

interface ReaderMeans {
  entry?: URL | undefined
  /** Reads `/proc/self/task/<thread>/stat`. Tests replace this function. */
  stat?: typeof statOf
  /** Maximum heap size in bytes. Sizes above 256 MiB have no effect. */
  heapBytes?: number
  clock?: Clock
}

export class ReaderThread {
  readonly #worker: Worker
  readonly #reading: SharedReading
  readonly #beats: Int32Array
  readonly #time: ThreadTime
  readonly #logger: Logger
  readonly #clock: Clock
  readonly ended: Promise<void>
  isListening = false
  /** Time when the thread started listening, in ms since the epoch. */
  listeningSince = Number.POSITIVE_INFINITY
  #isReady = false
  readonly #waited = Promise.withResolvers<void>()
  #lastBeat = 0
  #silentMs = 0

  /** The resources of `reading` are freed when the thread ends. */
  constructor(
    reading: SharedReading,
    data: Pick<ReaderData, 'host' | 'port' | 'sharesPort' | 'maxConnections' | 'traces'>,
    { logger, metrics, onReady, onListening, onEnd }: ReaderListeners,
    { entry = ENTRY, stat = statOf, heapBytes = Number.POSITIVE_INFINITY, clock = systemClock }: ReaderMeans = {},
  ) {
    this.#reading = reading
    this.#logger = logger
    this.#clock = clock
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
    // The thread must not keep the process alive.
    this.#worker.unref()
    this.#worker.on('message', (all: ReaderTold[]) => {
      for (const told of all) {
        if (told.kind === 'line') logger[told.level](told.fields, told.message)
        else if (told.kind === 'request') metrics?.request(told.observation)
        else if (told.kind === 'finished') metrics?.finished?.(told.work)
        else if (told.kind === 'sent') metrics?.sent('gateway', told.bytes)
        else if (told.kind === 'waited') this.#waited.resolve()
        else if (told.kind === 'ready') {
          this.#isReady = true
          onReady(this)
        } else {
          this.isListening = true
          this.listeningSince = clock.now()
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

  /** Resolves when the answers that the thread gives at the time of the first call have ended. */
  async answersEnded(): Promise<void> {
    this.#worker.postMessage({ kind: 'wait' } satisfies ReaderOrder)
    await Promise.race([this.#waited.promise, this.ended])
  }

  /**
   * Ends the thread when its requests have ended, after `ms` at the latest. Terminates it if it still runs after `ms +
   * graceMs`.
   */
  async end(ms: number, graceMs: number): Promise<void> {
    this.#worker.ref()
    this.#worker.postMessage({ kind: 'end', ms } satisfies ReaderOrder)
    const cancel = this.#clock.after(ms + graceMs, () => void this.#worker.terminate())
    await this.ended
    cancel()
  }

  /**
   * Terminates the thread if its event loop has been blocked for too long.
   *
   * @param elapsedMs time since the last call during which the main thread itself ran
   */
  look(elapsedMs: number): void {
    const beat = Atomics.load(this.#beats, BEATS)
    this.#silentMs = beat === this.#lastBeat ? this.#silentMs + this.#time.since(elapsedMs) : 0
    this.#lastBeat = beat
    const hangMs = this.#reading.isAwaited ? AWAITED_MS : HANG_MS
    if (this.#silentMs < (this.#isReady ? hangMs : START_MS)) return
    this.#silentMs = 0
    this.#logger.error({ ms: hangMs }, 'gateway thread hangs, replacing it')
    void this.#worker.terminate()
  }
}
