import type { AbusedServer } from './abused-server.ts'

/**
 * One way of asking for far too much by a small request. The suite makes the content, sends the request to a real
 * server, asks `/health` all the while, and looks at how long the server's loop stood still.
 *
 * To add one, add it to a file in `rows/`, which the suite reads by itself.
 */
export interface AbuseRow {
  name: string
  /** Makes what the request needs; not measured. */
  setUp?(server: AbusedServer): Promise<void>
  /** Resolves with the status that came, or with null if the client has left before the end. */
  request(server: AbusedServer): Promise<number | null>
  /** Statuses that are in order. Never a 5xx that the contract does not list for it. */
  answers: readonly (number | null)[]
  /** How long the loop may stand still, in milliseconds of a machine that is idle. Default {@link LONGEST_STALL_MS}. */
  longestStallMs?: number
  /** By how many MiB the memory of the process may peak above what it was. Default {@link GROWTH_MIB}. */
  growthMiB?: number
}

/** Far above the turns of a few milliseconds, for two busy cores; far below what each row took before it was mended. */
export const LONGEST_STALL_MS = 1_500
export const GROWTH_MIB = 300
