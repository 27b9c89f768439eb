import type { FinishedWork, Metrics, SharedReading } from '../../src/index.ts'

export interface ReaderData {
  reading: Pick<SharedReading, 'data' | 'port'>
  host: string
  port: number
  sharesPort: boolean
  maxConnections: number
  /** True if the main thread traces requests. */
  traces: boolean
  /**
   * Memory shared with the main thread: a counter that increases while the thread's event loop runs, and the system's
   * id of the thread.
   */
  beats: Int32Array
}

export const BEATS = 0
export const THREAD = 1

export type ReaderOrder = { kind: 'listen' } | { kind: 'wait' } | { kind: 'end'; ms: number }

export type ReaderTold =
  | { kind: 'ready' | 'listening' | 'waited' }
  | { kind: 'line'; level: 'debug' | 'info' | 'warn' | 'error'; fields: object; message: string }
  | { kind: 'request'; observation: Parameters<Metrics['request']>[0] }
  | { kind: 'finished'; work: FinishedWork }
  | { kind: 'sent'; bytes: number }
