import type { Call } from '../services/service.ts'

export interface Load {
  /** Name of the client. */
  client: string
  /** Successful requests. Any other answer is an error. */
  done: number
  seconds: number
  /** Median time of a request, if the client reports it. */
  medianMs?: number
}

/** A load of repeated requests to one origin, with the same method and headers. */
export interface Hammering {
  calls: readonly Call[]
  connections: number
  /** Duration, for clients that run for a time. */
  seconds: number
  /** Number of requests, for clients that run for a number. */
  count: number
  /** Size of the random file that each request sends as a form; none by default. */
  formBytes?: number
  /** Expected status of every answer; by default any success. */
  status?: number
}

export interface Transfer {
  /** Excludes the client's start. */
  seconds: number
  bytes: number
  body: string
}
