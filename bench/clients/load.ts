import type { Call } from '../services/service.ts'

/** What a load client has seen. */
export interface Load {
  /** Its name, for the row. */
  client: string
  /** Requests that were answered with success; anything else is an error. */
  done: number
  seconds: number
  /** Half of them were answered sooner than this, if it says so. */
  medianMs?: number
}

/** Requests over and over: all to one origin, with the same method and headers. */
export interface Hammering {
  /** Taken in turns. */
  calls: readonly Call[]
  connections: number
  /** For clients that go by time. */
  seconds: number
  /** For clients that go by number. */
  count: number
  /** Fresh bytes for each request, as a form with one file; none without. */
  formBytes?: number
  /** The status of every answer; success without it. */
  status?: number
}

/** What one transfer was. */
export interface Transfer {
  /** From the connection on, without the start of the program. */
  seconds: number
  bytes: number
  body: string
}
