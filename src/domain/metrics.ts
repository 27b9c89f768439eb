import type { ErrorCode } from './errors.ts'

/** An answered request. */
export interface RequestObservation {
  surface: 'api' | 'gateway'
  method: string
  /** Route as the route table writes it; null if none matched. */
  route: string | null
  /** HTTP status. */
  status: number
  /** Code of the refusal; null if there was none. */
  code: ErrorCode | null
  /** Client that the request names, or the kind of its credential. */
  source: 'WEB' | 'JWT' | 'API_KEY' | null
  /** Bytes read of the request body. */
  bytesIn: number
  /** Milliseconds until the answer began. */
  ms: number
}

/** Port for measurements. Its methods must return at once and never throw. */
export interface Metrics {
  /** Counts an answered request, whose body may still be going out. */
  request(observation: RequestObservation): void
  /** Counts the bytes of a body that went out, whole or not. Optional. */
  answered?(bytes: number): void
  /** Counts a finished garbage collection. */
  collected(freed: { roots: number; blocks: number; bytes: number }): void
}

const ignore = (): void => {}

/** Counts nothing: the default of an engine. */
export const silentMetrics: Metrics = { request: ignore, collected: ignore }
