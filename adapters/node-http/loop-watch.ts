import { Worker } from 'node:worker_threads'
import { currentWork, type Logger } from '../../src/index.ts'

/** A time during which the event loop was blocked. */
export interface Stall {
  /** Milliseconds. */
  ms: number
  /** Route or job that blocked it; null if unknown. */
  work: string | null
}

export interface WatcherData {
  beats: Int32Array
  lookMs: number
  /** Shortest stall to report, in milliseconds. */
  stallMs: number
  /** After this long the watching thread writes a line to standard error itself. */
  aloudMs: number
  /** JavaScript that the inspector runs in the main thread. */
  question: string
}

const BEAT_MS = 20
const LOOK_MS = 25
const STALL_MS = 200
const ALOUD_MS = 10_000
const SMALL_HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }
const ANSWER = Symbol.for('holdfast.current-work')
const QUESTION = "globalThis[Symbol.for('holdfast.current-work')]?.()"

/** A source file under Node; in the package the compiled one beside it. */
const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './loop-watcher.ts' : './loop-watcher.js', import.meta.url)

/**
 * Watches the event loop of this process from another thread, because microtasks can starve every timer of the loop
 * itself. Each stall is logged with the route that caused it, and counted.
 *
 * @returns a function that stops the watch, which keeps no process alive
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
    logger.warn({ ...stall }, 'event loop stalled')
  })
  worker.on('error', err => logger.warn({ err }, 'event-loop watch failed'))
  return async () => {
    clearInterval(beat)
    await worker.terminate()
  }
}
