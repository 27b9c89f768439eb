import type { ErrorCode } from './errors.ts'

/** A request that has been answered. */
export interface RequestObservation {
  surface: 'api' | 'gateway'
  method: string
  /** As the route table writes it; null if no route matched. */
  route: string | null
  /** Of HTTP. */
  status: number
  /** Why it was refused; null if it was not. */
  code: ErrorCode | null
  /** What the client says it is, or how it identified itself. */
  source: 'WEB' | 'JWT' | 'API_KEY' | null
  /** Body bytes that were read of the request. */
  bytesIn: number
  /** Milliseconds until the answer began. */
  ms: number
}

/** What the core tells of its work as it happens. Must return at once and never throw. */
export interface Metrics {
  /** A request has been answered; its body may still be going out. */
  request(observation: RequestObservation): void
  /** The body of an answer has gone out, whole or not: so many bytes. Told by who cares for them only. */
  answered?(bytes: number): void
  /** A collection has ended, by itself or because it was asked for. */
  collected(freed: { roots: number; blocks: number; bytes: number }): void
}

const ignore = (): void => {}

/** Counts nothing; what an engine uses unless it is given another. */
export const silentMetrics: Metrics = { request: ignore, collected: ignore }
