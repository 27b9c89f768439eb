import { Worker } from 'node:worker_threads'
import { currentWork, type Logger } from '../../src/index.ts'
import { everyMs } from './loop-time.ts'

/** A period during which the event loop was blocked. */
export interface Stall {
  ms: number
  /** Route or job that blocked the event loop. */
  work: string | null
}

export interface WatcherData {
  beats: Int32Array
  lookMs: number
  stallMs: number
  /** After a stall this long, the watching thread itself writes a line to standard error. */
  aloudMs: number
  /** JavaScript that the inspector evaluates in the main thread to name the running work. */
  question: string
}

const BEAT_MS = 20
const LOOK_MS = 25
const STALL_MS = 200
const ALOUD_MS = 10_000
const SMALL_HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }
const ANSWER = Symbol.for('holdfast.current-work')
const QUESTION = "globalThis[Symbol.for('holdfast.current-work')]?.()"

const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './loop-watcher.ts' : './loop-watcher.js', import.meta.url)

/**
 * Watches the event loop from another thread, because microtasks can delay its timers. Stalls are counted, and logged
 * with the route or job that caused them.
 *
 * @returns a function that stops the watch, which does not keep the process alive
 * @example const stop = watchLoop(logger)
 */
export function watchLoop(logger: Logger, metrics?: { stalled(stall: Stall): void }): () => Promise<void> {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const endBeats = everyMs(BEAT_MS, () => Atomics.add(beats, 0, 1))
  Object.defineProperty(globalThis, ANSWER, { value: currentWork, configurable: true })
  const workerData: WatcherData = { beats, lookMs: LOOK_MS, stallMs: STALL_MS, aloudMs: ALOUD_MS, question: QUESTION }
  const worker = new Worker(ENTRY, { name: 'holdfast-loop', workerData, resourceLimits: SMALL_HEAP, execArgv: [] })
  worker.unref()
  worker.on('message', (stall: Stall) => {
    metrics?.stalled(stall)
    logger.warn({ ...stall }, 'event loop stalled')
  })
  worker.on('error', err => logger.warn({ err }, 'event-loop watch failed'))
  return async () => {
    endBeats()
    await worker.terminate()
  }
}
