import type { ErrorCode } from './errors.ts'

/** Measurements of an answered request. */
export interface RequestObservation {
  surface: 'api' | 'gateway'
  method: string
  /** Route pattern from the route table, or null if no route matched. */
  route: string | null
  status: number
  /** Null if there was no error. */
  code: ErrorCode | null
  /** Client that the request names, or the kind of the request's credential. */
  source: 'WEB' | 'JWT' | 'API_KEY' | null
  /** Bytes read from the request body. */
  bytesIn: number
  /** Ms from the request until the response began. */
  ms: number
}

/** Port for measurements. All methods must return immediately and must not throw. */
export interface Metrics {
  /** Counts an answered request. The response body may still be in transfer. */
  request(observation: RequestObservation): void
  /** Counts the bytes sent of a response body, even if the body was not sent completely. */
  answered?(bytes: number): void
  /** Counts body bytes of the gateway under one domain: those counted for an account, and all others. */
  egress?(sent: { domain: string; counted: number; uncounted: number }): void
  collected(freed: { roots: number; blocks: number; bytes: number }): void
}

const ignore = (): void => {}

/** Default of an engine. */
export const silentMetrics: Metrics = { request: ignore, collected: ignore }
