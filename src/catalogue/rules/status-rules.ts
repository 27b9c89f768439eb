import { HoldfastError } from '../../domain/errors.ts'
import { checkTransition, type PinStatus, type StatusReason } from '../../domain/pin-status.ts'
import type { StatusChange } from '../fetches.ts'
import type { RecordRow } from '../records.ts'
import { AMONG_IDS, among, either, FOR_UPDATE, IF_UNLOCKED, indexed } from './dialect.ts'
import { all, first, own, type Rule } from './driver.ts'
import { record, SET_STATUS } from './record-statements.ts'
import { fragment, sql } from './statement.ts'

/** Maximum number of records that one transaction changes. */
export const STEP = 50

const IS_LOST = ":status = 'failed' AND lost_with IS NOT NULL"
/** A failed record whose content was lost with a node says so. Only PostgreSQL has several nodes. */
const CODE = either(':code', `CASE WHEN ${IS_LOST} THEN 'LOST' ELSE :code END`)
const TEXT = either(':text', `CASE WHEN ${IS_LOST} THEN 'lost with node ' || lost_with || ': ' || :text ELSE :text END`)
const NEW_STATUS = fragment`
  UPDATE records SET status = :status, status_at = :at, status_code = ${CODE}, status_reason = ${TEXT}`
const WAITING = fragment`
  SELECT id FROM records ${indexed('records_by_fetch')}
  WHERE fetch_id = :fetchId AND fetch_id IS NOT NULL AND status = :from`
const PLACING = fragment`
  SELECT id FROM records ${indexed('records_placing')} WHERE status = 'pinning' AND root_id = :rootId`
const LOCKED = fragment`${WAITING} ${either('', 'ORDER BY id')} LIMIT :step ${either('', 'FOR UPDATE')}`
/** Skips locked rows. A removal locks the record before its placement, so waiting for the record would deadlock. */
const FREE = fragment`${PLACING} LIMIT :step ${IF_UNLOCKED}`

const LOCK_WAITING = sql`
  SELECT ${record} FROM records ${indexed('records_by_fetch')}
  WHERE fetch_id = :fetchId AND fetch_id IS NOT NULL LIMIT :step ${FOR_UPDATE}`
const LOCK_RECORDS = sql`SELECT ${record} FROM records WHERE id ${AMONG_IDS} ORDER BY id ${FOR_UPDATE}`
const CHANGE_WAITING = sql`${NEW_STATUS} WHERE id ${among(LOCKED)} RETURNING ${record}`
const CHANGE_PLACING = sql`${NEW_STATUS} WHERE id ${among(FREE)} RETURNING ${record}`
const CHANGE_AMONG = sql`${NEW_STATUS} WHERE id ${AMONG_IDS} AND status = :from RETURNING ${record}`
export const SOME_WAITING_AS = sql`${WAITING} LIMIT 1`
const SOME_PLACING = sql`${PLACING} LIMIT 1`

export interface StatusStep {
  from: PinStatus
  to: PinStatus
  now: number
  reason: StatusReason | null
}

export interface StatusRules {
  set(of: RecordRow, to: PinStatus, now: number, reason: StatusReason | null): Rule<StatusChange>
  /** Changes up to {@link STEP} records that wait for a fetch. */
  waiting(fetchId: number, step: StatusStep): Rule<StatusChange[]>
  /** Sets the status `pinned` of up to {@link STEP} records that wait for a backend. */
  placed(rootId: number, now: number): Rule<{ changes: StatusChange[]; isDone: boolean }>
  among(ids: readonly string[], step: StatusStep): Rule<StatusChange[]>
}

/** @param changed called for each changed record, because its search words include the status */
export function statusRules(changed: () => void): StatusRules {
  function* changes(rows: readonly RecordRow[], from: PinStatus): Rule<StatusChange[]> {
    for (const _ of rows) yield* own(changed)
    return rows.map(row => ({ record: row, from }))
  }
  return {
    *set(of, to, now, reason) {
      checkTransition(of.status, to)
      const row = yield* first(SET_STATUS, { id: of.id, status: to, at: now, ...textOf(reason) })
      if (row === null) throw new HoldfastError('INTERNAL_ERROR', `record ${of.id} no longer exists`)
      yield* own(changed)
      return { record: row, from: of.status }
    },
    *waiting(fetchId, { from, to, now, reason }) {
      checkTransition(from, to)
      const params = { fetchId, from, status: to, at: now, step: STEP, ...textOf(reason) }
      return yield* changes(yield* all(CHANGE_WAITING, params), from)
    },
    *placed(rootId, now) {
      const params = { rootId, status: 'pinned', at: now, step: STEP, ...textOf(null) }
      const made = yield* changes(yield* all(CHANGE_PLACING, params), 'pinning')
      return { changes: made, isDone: (yield* first(SOME_PLACING, { rootId })) === null }
    },
    *among(ids, { from, to, now, reason }) {
      checkTransition(from, to)
      return yield* changes(yield* all(CHANGE_AMONG, { ids, from, status: to, at: now, ...textOf(reason) }), from)
    },
  }
}

export function lockWaiting(fetchId: number): Rule<RecordRow[]> {
  return all(LOCK_WAITING, { fetchId, step: STEP })
}

/** Locks and returns records, in the order of their ids. */
export function lockRecordRows(ids: readonly string[]): Rule<RecordRow[]> {
  return all(LOCK_RECORDS, { ids })
}

function textOf(reason: StatusReason | null): { code: string | null; text: string | null } {
  return { code: reason?.code ?? null, text: reason?.text ?? null }
}
