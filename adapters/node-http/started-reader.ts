import { Worker } from 'node:worker_threads'
import type { Logger, Metrics, SharedReading } from '../../src/index.ts'
import type { ReaderData, ReaderOrder, ReaderTold } from './reader-messages.ts'

/** As a source file under Node, as its compiled neighbour in the package. */
const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './reader-thread.ts' : './reader-thread.js', import.meta.url)
/** Blocks lie outside of the heap. The young generation is small as that of the process, for the same reason. */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 12 }
/** How long a loop may not go round before its thread is given up. */
const HANG_MS = 5_000
/** The same until it is ready: a start loads all modules. */
const START_MS = 60_000

/** Whom readers tell. */
export interface ReaderListeners {
  logger: Logger
  metrics: (Pick<Metrics, 'request'> & { sent(surface: 'gateway', bytes: number): void }) | undefined
  onReady: (reader: ReaderThread) => void
  onListening: (reader: ReaderThread) => void
  onEnd: (reader: ReaderThread) => void
}

/** A thread that serves the gateway, as the thread that has started it sees it. */
export class ReaderThread {
  readonly #worker: Worker
  readonly #beats: Int32Array
  readonly #logger: Logger
  /** Resolves when it has ended. */
  readonly ended: Promise<void>
  isListening = false
  /** Milliseconds since the epoch. */
  listeningSince = Number.POSITIVE_INFINITY
  #isReady = false
  #lastBeat = 0
  #silentMs = 0

  /** The reading ends with the thread. */
  constructor(
    reading: SharedReading,
    data: Pick<ReaderData, 'host' | 'port' | 'sharesPort' | 'maxConnections'>,
    { logger, metrics, onReady, onListening, onEnd }: ReaderListeners,
    entry: URL = ENTRY,
  ) {
    this.#logger = logger
    this.#beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const { data: shared, port } = reading
    const workerData: ReaderData = { ...data, reading: { data: shared, port }, beats: this.#beats }
    this.#worker = new Worker(entry, {
      name: 'holdfast-reader',
      workerData,
      transferList: [port],
      resourceLimits: HEAP,
      execArgv: [],
    })
    // It ends with the process, and keeps none alive.
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
    this.#worker.on('error', err => logger.error({ err }, 'a thread of the gateway has failed'))
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

  /** Has it end once what is under way has, and after `ms` at the latest. */
  async end(ms: number, graceMs: number): Promise<void> {
    this.#worker.ref()
    this.#worker.postMessage({ kind: 'end', ms } satisfies ReaderOrder)
    const late = setTimeout(() => void this.#worker.terminate(), ms + graceMs)
    await this.ended
    clearTimeout(late)
  }

  /** Ends it if its loop does not go round any more. `elapsedMs`: in which this thread ran itself. */
  look(elapsedMs: number): void {
    const beat = Atomics.load(this.#beats, 0)
    this.#silentMs = beat === this.#lastBeat ? this.#silentMs + elapsedMs : 0
    this.#lastBeat = beat
    if (this.#silentMs < (this.#isReady ? HANG_MS : START_MS)) return
    this.#silentMs = 0
    this.#logger.error({ ms: HANG_MS }, 'a thread of the gateway hangs, and is replaced')
    void this.#worker.terminate()
  }
}
