import type { Metrics, SharedReading } from '../../src/index.ts'

/** Data with which a reader thread is started. */
export interface ReaderData {
  reading: Pick<SharedReading, 'data' | 'port'>
  host: string
  port: number
  /** True if other threads may listen on the same port. */
  sharesPort: boolean
  maxConnections: number
  /**
   * Memory shared with the main thread. It contains a counter that shows that the thread's event loop runs, and the
   * thread id in the system.
   */
  beats: Int32Array
}

/** Indexes in `beats`. The first is the counter, the second the thread id. */
export const BEATS = 0
export const THREAD = 1

/** Messages from the main thread to a reader thread. */
export type ReaderOrder = { kind: 'listen' } | { kind: 'end'; ms: number }

/** Messages from a reader thread to the main thread, which are sent in batches. */
export type ReaderTold =
  | { kind: 'ready' | 'listening' }
  | { kind: 'line'; level: 'debug' | 'info' | 'warn' | 'error'; fields: object; message: string }
  | { kind: 'request'; observation: Parameters<Metrics['request']>[0] }
  | { kind: 'sent'; bytes: number }
