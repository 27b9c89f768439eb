import type { Metrics, SharedReading } from '../../src/index.ts'

/** Start data of a reader thread. */
export interface ReaderData {
  reading: Pick<SharedReading, 'data' | 'port'>
  host: string
  port: number
  /** True if other threads listen on the same port. */
  sharesPort: boolean
  maxConnections: number
  /** Has the thread's beats, which show that its event loop runs, and its number in the system. */
  beats: Int32Array
}

/** Places in `beats`. */
export const BEATS = 0
export const THREAD = 1

/** Orders to a thread. */
export type ReaderOrder = { kind: 'listen' } | { kind: 'end'; ms: number }

/** Reports of a thread, several at a time. */
export type ReaderTold =
  | { kind: 'ready' | 'listening' }
  | { kind: 'line'; level: 'debug' | 'info' | 'warn' | 'error'; fields: object; message: string }
  | { kind: 'request'; observation: Parameters<Metrics['request']>[0] }
  | { kind: 'sent'; bytes: number }
