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
   * Memory shared with the main thread. The first element is a counter that increases while the thread's event loop
   * runs. The second is the system's id of the thread.
   */
  beats: Int32Array
}

/** Indexes in `beats`. The first is for the counter, the second for the thread id. */
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
