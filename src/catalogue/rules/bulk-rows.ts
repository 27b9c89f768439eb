import type { BulkChange } from '../bulk-changes.ts'
import type { RecordRow } from '../records.ts'
import { AMONG_IDS, either, indexed } from './dialect.ts'
import type { Rule } from './driver.ts'
import { dueStates, withJob } from './job-rules.ts'
import type { RecordParts } from './record-rules.ts'
import { DERIVED, record } from './record-statements.ts'
import { type HeldRecord, heldRecord } from './removal-rules.ts'
import { columnNames, columns, fragment, sql } from './statement.ts'

export interface BulkParts extends RecordParts {
  /** Name of this node, which leases jobs. Empty for a catalogue of one node. */
  node: string
  /** Deletes the given records, but keeps their holds. The kept holds let nobody read the content. */
  keep(records: readonly RecordRow[]): Rule<RecordRow[]>
  /** Gives the hold of a restored or an edited record the end of the record. Makes a kept hold an ordinary one again. */
  unkeep(record: HeldRecord): Rule<void>
  /** Counts a record that now has an expiry (1), or that no longer has one (-1). The account's counter is apart. */
  expiring(record: RecordRow, by: number): Rule<void>
  /** Releases the holds of removed records. */
  release(records: readonly HeldRecord[]): Rule<void>
  added?(records: readonly RecordRow[]): void
  /** Returns the numbers that backends of this node have in the catalogue. */
  backends(inLedger: readonly number[]): readonly number[]
}

export const change = columns<BulkChange>({
  id: 'integer',
  name: 'text',
  accountId: ['text', 'state.account_id'],
  action: 'text',
  selection: 'text',
  phase: 'text',
  place: 'text',
  total: 'integer',
  done: 'integer',
  failed: 'integer',
  restored: 'integer',
  failures: 'text',
  freedBytes: 'integer',
  undoMs: 'integer',
  undoEnded: 'text',
  createdAt: 'integer',
  endedAt: 'integer',
  attempts: ['integer', 'COALESCE(job.attempts, 0)'],
})
export const STATES = withJob('bulk_changes', 'bulk')
const LOCK = either('', 'FOR UPDATE OF state')

export const DUE = dueStates(change, 'bulk_changes')
export const CHANGE_BY_ID = sql`SELECT ${change} FROM ${STATES} WHERE id = :id`
export const BY_NAME = sql`SELECT ${change} FROM ${STATES} WHERE name = :name AND state.account_id = :accountId`
export const BY_ACCOUNT = sql`
  SELECT ${change} FROM ${STATES} WHERE state.account_id = :accountId ORDER BY id DESC`
export const RECENT = sql`SELECT ${change} FROM ${STATES} WHERE id < :before ORDER BY id DESC LIMIT :rows`
export const LOCKED = sql`SELECT ${change} FROM ${STATES} WHERE id = :id ${LOCK}`
export const COUNT_CHANGES = sql<{ count: number }>`
  SELECT COUNT(*) AS count FROM bulk_changes ${indexed('bulk_changes_by_account')} WHERE account_id = :accountId`
export const INSERT = sql<{ id: number }>`
  INSERT INTO bulk_changes (name, account_id, action, selection, total, undo_ms, created_at)
  VALUES (:name, :accountId, :action, :selection, :total, :undoMs, :createdAt) RETURNING id`
export const SET_PROGRESS = sql`
  UPDATE bulk_changes SET phase = :phase, place = :place, done = :done, failed = :failed, restored = :restored,
    failures = :failures, freed_bytes = :freedBytes, ended_at = :endedAt, selection = :selection
  WHERE id = :id`
export const FORGET = sql`DELETE FROM bulk_changes WHERE id = :id`

/** The columns of `records` and of `removed_records`, which are the same. */
const COLUMNS = fragment`${columnNames(record)}, ${DERIVED}${either('', ', seq')}`

export const KEEP = sql`
  INSERT INTO removed_records (change_id, ${COLUMNS})
  SELECT ${either(':change', ':change::bigint')}, ${COLUMNS} FROM records WHERE id ${AMONG_IDS}`
export const RESTORE = sql`
  INSERT INTO records (${COLUMNS}) ${either('', 'OVERRIDING SYSTEM VALUE')}
  SELECT ${COLUMNS} FROM removed_records WHERE id = :id`
export const SET_REMOVED = sql`
  UPDATE removed_records SET status = :status, status_at = :now, status_code = NULL, status_reason = :reason,
    fetch_id = NULL
  WHERE id = :id`
export const REMOVED = sql`
  SELECT ${heldRecord} FROM removed_records ${indexed('removed_records_by_change')}
  WHERE change_id = :change AND id > :after ORDER BY id LIMIT :limit`
export const REMOVED_AMONG = sql`
  SELECT ${heldRecord} FROM removed_records WHERE id ${AMONG_IDS} AND change_id = :change ORDER BY id`
export const FORGET_REMOVED = sql`DELETE FROM removed_records WHERE id ${AMONG_IDS}`
/** State of a root on its external backend. A root on another kind of backend has no row. */
export const PLACED = sql<{ isPlaced: boolean }>`
  SELECT ${columns<{ isPlaced: boolean }>({ isPlaced: ['flag', 'placed'] })} FROM placements p
  JOIN roots r ON r.multihash = p.multihash AND r.codec = p.codec AND r.backend_id = p.backend_id
  WHERE r.id = :rootId`
