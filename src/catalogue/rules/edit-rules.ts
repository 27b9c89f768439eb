import type { BulkFailure, SelectedStep } from '../bulk-changes.ts'
import { type BulkEdit, editedRecord } from '../bulk-edits.ts'
import type { RecordRow } from '../records.ts'
import { advance, lockedAt } from './bulk-progress.ts'
import type { BulkParts } from './bulk-rows.ts'
import { AMONG_IDS, either, FOR_UPDATE } from './dialect.ts'
import { all, type Rule, run } from './driver.ts'
import { withList } from './record-rules.ts'
import { COUNT } from './record-statements.ts'
import { heldRecord } from './removal-rules.ts'
import { withFailures } from './restore-rules.ts'
import { columns, sql } from './statement.ts'

const editable = columns<RecordRow & { holdId: string | null; list: number }>({
  ...heldRecord.kinds,
  list: withList.kinds.list,
})
const LOCK_EDITABLE = sql`SELECT ${editable} FROM records WHERE id ${AMONG_IDS} ORDER BY id ${FOR_UPDATE}`
const SET_EDITED = sql`
  UPDATE records SET name = :name, custom_name = :customName, expires_at = :expiresAt, cluster_id = :clusterId,
    folded_name = :foldedName${either('', ', identity = :identity, words = :words')} WHERE id = :id`

/** Records before and after their edit. */
export type Edited = { rows: RecordRow[] | null; before: RecordRow[] }

/** Edits live records of the account, and counts each selected record once. */
export function* editStep(parts: BulkParts, step: SelectedStep & { edit: BulkEdit }): Rule<Edited> {
  const { ids, next, now, edit, isListed } = step
  const change = yield* lockedAt(step, 'running')
  if (change === null) return { rows: null, before: [] }
  const { accountId } = change
  const found = (yield* all(LOCK_EDITABLE, { ids })).filter(
    row => row.accountId === accountId && (row.expiresAt === null || row.expiresAt > now),
  )
  const known = new Set(found.map(({ id }) => id))
  const missing = isListed ? ids.filter(id => !known.has(id)) : []
  const failures: BulkFailure[] = missing.map(uploadId => ({ uploadId, code: 'NOT_FOUND' }))
  const before: RecordRow[] = []
  const rows: RecordRow[] = []
  let expiring = 0
  for (const { holdId, list, ...row } of found) {
    const after = editedRecord(row, edit)
    if (typeof after === 'string') {
      failures.push({ uploadId: row.id, code: after })
      continue
    }
    if (after === row) continue
    yield* run(SET_EDITED, { ...after, ...parts.found({ ...after, list }) })
    if (after.expiresAt !== row.expiresAt) {
      if (row.rootId !== null) yield* parts.unkeep({ ...after, holdId })
      const by = Number(after.expiresAt !== null) - Number(row.expiresAt !== null)
      if (by !== 0) yield* parts.expiring(after, by)
      expiring += by
    }
    before.push(row)
    rows.push(after)
  }
  if (expiring !== 0) yield* run(COUNT, { accountId, pins: 0, expiringPins: expiring, storedBytes: 0 })
  const failed = withFailures(change, failures)
  yield* advance({ ...failed, done: change.done + ids.length - failures.length }, next, 'done', now)
  return { rows, before }
}
