import type { CopiedTable } from './tables.ts'

/** A table that a move copies. */
export type MovedTable =
  | 'accounts'
  | 'api_keys'
  | 'sessions'
  | 'second_factors'
  | 'password_links'
  | 'identities'
  | 'recovery_codes'
  | 'roots'
  | 'root_files'
  | 'fetches'
  | 'records'
  | 'removals'
  | 'bulk_changes'
  | 'removed_records'
  | 'placements'
  // feature: webhooks
  | 'webhooks'
  | 'deliveries'
  // end
  | 'jobs'
  | 'egress'
  | 'audit' // feature: audit

/** A row, with the column names of the target database. Booleans are numbers, and lists are JSON text. */
export type MovedRow = Readonly<Record<string, string | number | null | Uint8Array>>

export interface CatalogueToMove {
  /** The tables that move, in the order of copying. */
  readonly tables: readonly CopiedTable[]
  count(table: CopiedTable): number
  /** Returns all rows in insertion order, in batches of a few hundred. */
  batches(table: CopiedTable): Iterable<MovedRow[]>
}

/** The progress of a move. */
export interface MoveProgress {
  step: 'copying' | 'copied' | 'switched' | 'joined' | 'removing'
  /** Number of rows copied or removed so far. `of` is the total. */
  rows: number
  of: number
}

/** The outcome of a copy. */
export interface CopiedCatalogue {
  rows: Readonly<Record<MovedTable, number>>
  /** Ids of the accounts whose usage counters the move has corrected. */
  recounted: string[]
}
