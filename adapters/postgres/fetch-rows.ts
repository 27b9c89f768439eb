import type { FetchRow, StatusChange } from '../../src/catalogue/fetches.ts'
import type { RecordRow } from '../../src/catalogue/records.ts'
import { checkTransition, type PinStatus, type StatusReason } from '../../src/domain/pin-status.ts'
import type { DagIdentity } from '../../src/ipld/cid.ts'
import { BACKEND_ID } from './backends.ts'
import { NeedsHold } from './content-change.ts'
import { withdrawPlacement } from './placement-rows.ts'
import { RECORD_COLUMNS } from './record-rows.ts'
import { type SharedHolds, tellNode } from './shared-holds.ts'
import type { Sql } from './sql.ts'

/** A fetch, and what keeps what it has brought. */
export type HeldFetch = FetchRow & { holdId: string; isRunning: boolean; node: string }

/** Records that one transaction changes. */
export const STEP = 50
export const FETCH_COLUMNS = `id, account_id AS "accountId", ${BACKEND_ID} AS "backendId", codec, multihash,
  root_id AS "rootId", origins, attempts, next_attempt_at AS "nextAttemptAt", last_error AS "lastError", bytes, blocks,
  charge, whole AS "isWhole"`
const HELD_COLUMNS = `${FETCH_COLUMNS}, hold_id AS "holdId", running AS "isRunning", node`

/** A root that was staged for a fetch, should there be none. */
export interface StagedRoot {
  /** Of its hold. */
  id: string
  ledgerRootId: number
}

/** Nobody comes to wait for it, and it does not go, until the transaction ends. */
export function lockFetch(sql: Sql, id: number): Promise<HeldFetch | undefined> {
  return sql.first<HeldFetch>(`SELECT ${HELD_COLUMNS} FROM fetches WHERE id = $1 FOR UPDATE`, [id])
}

export async function isWanted(sql: Sql, id: number): Promise<boolean> {
  return (await sql.first('SELECT 1 FROM records WHERE fetch_id = $1 LIMIT 1', [id])) !== undefined
}

/**
 * Gives a fetch up that no record waits for, what it has brought with it, and what a cluster was to fetch for it. Returns
 * whether it is gone.
 */
export async function dropIfUnneeded(sql: Sql, holds: SharedHolds, fetch: HeldFetch | undefined): Promise<boolean> {
  if (fetch === undefined) return true
  if (await isWanted(sql, fetch.id)) return false
  await sql.run('DELETE FROM fetches WHERE id = $1', [fetch.id])
  await holds.void(sql, [fetch.holdId])
  await withdrawPlacement(sql, holds.backend(fetch.backendId), fetch)
  return true
}

/** Has the node that works at a fetch look whether anybody waits for it, if that is another one. Returns whether it is. */
export async function leaveToOther(sql: Sql, holds: SharedHolds, fetch: HeldFetch | undefined): Promise<boolean> {
  if (fetch === undefined || fetch.node === holds.node) return false
  await sql.run('UPDATE fetches SET leavings = leavings + 1 WHERE id = $1', [fetch.id])
  await tellNode(sql, fetch.node)
  return true
}

/**
 * The fetch that is to bring a DAG, which begins now unless it is under way.
 *
 * @throws NeedsHold if there is none, and nothing was staged for it
 */
export async function fetchFor(
  sql: Sql,
  holds: SharedHolds,
  wanted: {
    backendId: number
    record: DagIdentity & { accountId: string }
    origins: readonly string[]
    now: number
    staged: StagedRoot | null
  },
): Promise<{ id: number; isRunning: boolean; usesStaged: boolean }> {
  const { backendId, record, origins, now, staged } = wanted
  const known = await sql.first<HeldFetch>(
    `SELECT ${HELD_COLUMNS} FROM fetches WHERE multihash = $1 AND codec = $2 AND backend_id = $3 FOR UPDATE`,
    [record.multihash, record.codec, holds.backend(backendId)],
  )
  if (known === undefined) return { id: await begin(sql, holds, wanted), isRunning: false, usesStaged: staged !== null }
  const queued = `SELECT 1 FROM records WHERE fetch_id = $1 AND status = 'queued' LIMIT 1`
  if (!known.isRunning && (await sql.first(queued, [known.id])) === undefined) {
    await sql.run('UPDATE fetches SET next_attempt_at = $2, origins = $3, attempts = 0 WHERE id = $1', [
      known.id,
      now,
      [...new Set([...origins, ...known.origins])],
    ])
  }
  return { id: known.id, isRunning: known.isRunning, usesStaged: false }
}

async function begin(sql: Sql, holds: SharedHolds, wanted: Parameters<typeof fetchFor>[2]): Promise<number> {
  const { backendId, record, origins, now, staged } = wanted
  if (staged === null) throw new NeedsHold('nothing is staged for the fetch')
  await holds.use(sql, staged.id)
  const made = await sql.first<{ id: number }>(
    `INSERT INTO fetches (account_id, backend_id, codec, multihash, node, root_id, hold_id, origins, next_attempt_at,
       created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
     ON CONFLICT (multihash, codec, backend_id) DO NOTHING RETURNING id`,
    [
      record.accountId,
      holds.backend(backendId),
      record.codec,
      record.multihash,
      holds.node,
      staged.ledgerRootId,
      staged.id,
      origins,
      now,
    ],
  )
  // Another has begun one at the same time, which is seen only now.
  if (made === undefined) throw new NeedsHold('another fetch has begun')
  return made.id
}

/** Changes the status of some of the records that wait, and have one. Returns those. */
export async function changeSome(sql: Sql, fetchId: number, change: StatusStep): Promise<StatusChange[]> {
  const { from, to, now, reason } = change
  checkTransition(from, to)
  const rows = await sql.all<RecordRow>(
    `UPDATE records SET status = $3, status_at = $4, status_code = $5, status_reason = $6
     WHERE id = ANY(ARRAY(
       SELECT id FROM records WHERE fetch_id = $1 AND status = $2 ORDER BY id LIMIT ${STEP} FOR UPDATE))
     RETURNING ${RECORD_COLUMNS}`,
    [fetchId, from, to, now, reason?.code ?? null, reason?.text ?? null],
  )
  return rows.map(record => ({ record, from }))
}

export interface StatusStep {
  from: PinStatus
  to: PinStatus
  /** Milliseconds since the epoch. */
  now: number
  reason: StatusReason | null
}
