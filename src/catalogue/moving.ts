/** A table that is copied where a catalogue moves. */
export type MovedTable =
  | 'accounts'
  | 'api_keys'
  | 'sessions'
  | 'second_factors'
  | 'recovery_codes'
  | 'roots'
  | 'root_files'
  | 'fetches'
  | 'records'
  | 'removals'
  | 'placements'
  | 'webhooks'
  | 'deliveries'
  | 'jobs'

/** All of them, in the order in which they are written. */
export const MOVED_TABLES: readonly MovedTable[] = [
  ...(['accounts', 'api_keys', 'sessions', 'second_factors', 'recovery_codes'] as const),
  ...(['roots', 'root_files', 'fetches', 'records', 'removals', 'placements'] as const),
  // After the records: what these have been was told already.
  ...(['webhooks', 'deliveries', 'jobs'] as const),
]

/** A row, by the names of the columns that it goes to: numbers for booleans, JSON for lists. */
export type MovedRow = Readonly<Record<string, string | number | null | Uint8Array>>

/** A catalogue that is moved, and that nobody changes meanwhile. */
export interface CatalogueToMove {
  /** How many rows a table has. */
  count(table: MovedTable): number
  /** All rows of a table in the order in which they were made, a few hundred at a time. */
  batches(table: MovedTable): Iterable<MovedRow[]>
}

/** How far a move is. */
export interface MoveProgress {
  step: 'copying' | 'copied' | 'switched' | 'joined' | 'removing'
  /** Copied, or removed, so far; and of how many. */
  rows: number
  of: number
}

/** What a move has copied. */
export interface CopiedCatalogue {
  /** Rows by table. */
  rows: Readonly<Record<MovedTable, number>>
  /** Accounts whose counters did not say what there is, and do now. */
  recounted: string[]
}
