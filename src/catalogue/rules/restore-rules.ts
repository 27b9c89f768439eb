import type { PinStatus } from '../../domain/pin-status.ts'
import { type BulkChange, type BulkFailure, type BulkStep, FAILURES_KEPT } from '../bulk-changes.ts'
import type { AccountUsage, PinLimits, RecordRow } from '../records.ts'
import { type BulkParts, FORGET_REMOVED, PLACED, REMOVED_AMONG, RESTORE, SET_REMOVED } from './bulk-rows.ts'
import { all, first, type Rule, run } from './driver.ts'
import { excessOf } from './plan-limits.ts'
import { usageOf } from './record-rules.ts'
import { COUNT, HAS_DAG } from './record-statements.ts'
import type { HeldRecord } from './removal-rules.ts'
import { lockRecordRows } from './status-rules.ts'

const NOT_FETCHED = 'the fetch ended with the removal: repeat the request'

/** Restores removed records, with their ids, names and times. The caller has locked the account. */
export function* restoreRecords(
  parts: BulkParts,
  change: BulkChange,
  { ids, now, limits }: BulkStep & { limits: PinLimits },
): Rule<{ rows: RecordRow[]; after: BulkChange }> {
  const { accountId } = change
  const found = yield* all(REMOVED_AMONG, { ids, change: change.id })
  // The caller may have requested a record without content again, under the same id.
  const requested = new Set((yield* lockRecordRows(ids)).map(({ id }) => id))
  const usage = yield* usageOf(accountId, now)
  const added: AccountUsage = { pins: 0, expiringPins: 0, storedBytes: 0 }
  const failures: BulkFailure[] = []
  const rows: RecordRow[] = []
  for (const removed of found.filter(({ id }) => !requested.has(id))) {
    const { id: uploadId, expiresAt, charge } = removed
    const bytes = removed.rootId === null || (yield* first(HAS_DAG, removed)) !== null ? 0 : charge
    const total = { pins: usage.pins + added.pins + 1, storedBytes: usage.storedBytes + added.storedBytes + bytes }
    if (expiresAt !== null && expiresAt <= now) failures.push({ uploadId, code: 'EXPIRED' })
    else if (excessOf(total, limits) !== null) failures.push({ uploadId, code: 'QUOTA_EXCEEDED' })
    else {
      const count = { pins: 1, expiringPins: expiresAt === null ? 0 : 1, storedBytes: bytes }
      rows.push(yield* restore(parts, removed, now))
      parts.uncounted?.(removed, count)
      for (const key of ['pins', 'expiringPins', 'storedBytes'] as const) added[key] += count[key]
    }
  }
  yield* run(FORGET_REMOVED, { ids: [...requested, ...rows.map(({ id }) => id)] })
  yield* run(COUNT, { accountId, ...added })
  const restored = change.restored + rows.length + requested.size
  const freedBytes = change.freedBytes - added.storedBytes
  return { rows, after: withFailures({ ...change, restored, freedBytes }, failures) }
}

/** Counts failures, and stores the first of them. */
export function withFailures(change: BulkChange, failures: readonly BulkFailure[]): BulkChange {
  if (failures.length === 0) return change
  const kept = [...(JSON.parse(change.failures) as BulkFailure[]), ...failures].slice(0, FAILURES_KEPT)
  return { ...change, failed: change.failed + failures.length, failures: JSON.stringify(kept) }
}

function* restore(parts: BulkParts, { holdId, ...removed }: HeldRecord, now: number): Rule<RecordRow> {
  const status = yield* statusNow(removed)
  const isChanged = status !== removed.status || removed.fetchId !== null
  const reason = status === 'failed' ? NOT_FETCHED : null
  const changed = isChanged ? { status, statusAt: now, statusCode: null, statusReason: reason, fetchId: null } : {}
  if (isChanged) yield* run(SET_REMOVED, { id: removed.id, status, now, reason })
  yield* run(RESTORE, { id: removed.id })
  if (removed.rootId !== null) yield* parts.unkeep({ ...removed, holdId })
  return { ...removed, ...changed }
}

/** Returns the status of a record whose fetch or placement may have changed since the removal. */
function* statusNow({ rootId, status }: RecordRow): Rule<PinStatus> {
  if (rootId === null) return 'failed'
  const placement = yield* first(PLACED, { rootId })
  if (placement === null) return status
  return placement.isPlaced ? 'pinned' : 'pinning'
}
