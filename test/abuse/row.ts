import type { AbusedServer } from './abused-server.ts'

/**
 * A small request that asks for far too much. The suite sends it to a real server, requests `/health` meanwhile and
 * measures the stall of the server's event loop.
 *
 * To add one, add it to a file in `rows/`.
 */
export interface AbuseRow {
  name: string
  /** Stores what the request needs. It is not measured. */
  setUp?(server: AbusedServer): Promise<void>
  /** Resolves with the answer's status, or null if the client disconnected before the end. */
  request(server: AbusedServer): Promise<number | null>
  /** Acceptable statuses. A 5xx must be one that the contract lists. */
  answers: readonly (number | null)[]
  /** Longest stall of the loop that the row allows, in ms. Default {@link LONGEST_STALL_MS}. */
  longestStallMs?: number
  /** Memory growth of the process that the row allows, in MiB. Default {@link GROWTH_MIB}. */
  growthMiB?: number
  /** Memory growth while the row runs that it allows, in MiB. Default: none is checked. */
  peakMiB?: number
}

/**
 * In ms. A turn takes a few milliseconds, so two busy cores stay far below it. Each row took far longer before its
 * defect was fixed.
 */
export const LONGEST_STALL_MS = 1_500
export const GROWTH_MIB = 300
