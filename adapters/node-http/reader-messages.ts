import type { Metrics, SharedReading } from '../../src/index.ts'

/** What a reader's thread is given. */
export interface ReaderData {
  reading: Pick<SharedReading, 'data' | 'port'>
  host: string
  port: number
  /** Whether others listen on the same port. */
  sharesPort: boolean
  maxConnections: number
  /** Counts the rounds of its loop. */
  beats: Int32Array
}

/** What it is told to do. */
export type ReaderOrder = { kind: 'listen' } | { kind: 'end'; ms: number }

/** What it tells, several at a time. */
export type ReaderTold =
  | { kind: 'ready' | 'listening' }
  | { kind: 'line'; level: 'debug' | 'info' | 'warn' | 'error'; fields: object; message: string }
  | { kind: 'request'; observation: Parameters<Metrics['request']>[0] }
  | { kind: 'sent'; bytes: number }
