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

/** Work that has ended, for a trace. No field holds a URL, header, body, address or credential. */
export interface FinishedWork {
  kind:
    | 'request'
    | 'fetch'
    | 'webhook delivery' // feature: webhooks
    | 'backup'
    | 'collection'
  /** Ms since the epoch. A request ends when its response has been sent. */
  startedAt: number
  endedAt: number
  /** Null if the work succeeded. */
  code: ErrorCode | null
  /** Subject and amount of the work, by name. */
  facts: Readonly<Record<string, string | number>>
  /** Undefined for other work than a request. */
  request?: Pick<RequestObservation, 'method' | 'route' | 'status'> & {
    scheme?: string | undefined
    /** Headers of W3C Trace Context, as received. */
    traceparent?: string | undefined
    tracestate?: string | undefined
  }
  /**
   * Identity of the request that the work is, or that has caused it. Such work may end before its request or after it.
   * Undefined for work without a request.
   */
  trace?: object | undefined
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
  /** Takes finished work for a trace. Undefined while nobody traces, so that nothing is prepared. */
  finished?: ((work: FinishedWork) => void) | undefined
}

const ignore = (): void => {}

/** Default of an engine. */
export const silentMetrics: Metrics = { request: ignore, collected: ignore }
