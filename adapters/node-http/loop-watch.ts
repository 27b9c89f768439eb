import { Worker } from 'node:worker_threads'
import { currentWork, type Logger } from '../../src/index.ts'

/** A time for which the event loop was not given back, and the route or job that held it if that could be told. */
export interface Stall {
  /** Milliseconds. */
  ms: number
  /** The route or job; null if that could not be told. */
  work: string | null
}

export interface WatcherData {
  beats: Int32Array
  lookMs: number
  /** Shorter ones are not told. */
  stallMs: number
  /** After so much of one a line goes to standard error, from the thread itself. */
  aloudMs: number
  /** What the main thread is asked, as JavaScript. */
  question: string
}

const BEAT_MS = 20
const LOOK_MS = 25
const STALL_MS = 200
const ALOUD_MS = 10_000
const SMALL_HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }
const ANSWER = Symbol.for('holdfast.current-work')
const QUESTION = "globalThis[Symbol.for('holdfast.current-work')]?.()"

/** The same name beside the sources and beside what is built of them. */
const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './loop-watcher.ts' : './loop-watcher.js', import.meta.url)

/**
 * Watches the event loop of this process from a thread of its own, which sees what no timer of the loop sees: work that
 * starves it in microtasks. Each stall is logged with the route that held the loop, and counted.
 *
 * @returns what ends it. It keeps no process alive.
 */
export function watchLoop(logger: Logger, metrics?: { stalled(stall: Stall): void }): () => Promise<void> {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const beat = setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref()
  Object.defineProperty(globalThis, ANSWER, { value: currentWork, configurable: true })
  const workerData: WatcherData = { beats, lookMs: LOOK_MS, stallMs: STALL_MS, aloudMs: ALOUD_MS, question: QUESTION }
  const worker = new Worker(ENTRY, { name: 'holdfast-loop', workerData, resourceLimits: SMALL_HEAP, execArgv: [] })
  worker.unref()
  worker.on('message', (stall: Stall) => {
    metrics?.stalled(stall)
    logger.warn({ ...stall }, 'the event loop was held')
  })
  worker.on('error', err => logger.warn({ err }, 'the event loop is no longer watched'))
  return async () => {
    clearInterval(beat)
    await worker.terminate()
  }
}
