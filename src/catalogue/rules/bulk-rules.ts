import { HoldfastError } from '../../domain/errors.ts'
import {
  type BulkChange,
  type BulkChanges,
  type BulkStep,
  CHANGE_KEPT_MS,
  MOST_CHANGES,
  type NewBulkChange,
  type SelectedStep,
  usageWithRemoved,
} from '../bulk-changes.ts'
import type { PinLimits, RecordRow } from '../records.ts'
import type { UndoPeriods } from '../undo-periods.ts'
import { LOCKED_ACCOUNT } from './account-rows.ts'
import { ANY_NODE, advance, lockedAt, schedule } from './bulk-progress.ts'
import {
  type BulkParts,
  BY_ACCOUNT,
  BY_NAME,
  CHANGE_BY_ID,
  COUNT_CHANGES,
  DUE,
  FORGET,
  FORGET_REMOVED,
  INSERT,
  KEEP,
  LOCKED,
  RECENT,
  REMOVED,
  SET_PROGRESS,
} from './bulk-rows.ts'
import { all, type CatalogueDriver, first, type Rule, run } from './driver.ts'
import { type Edited, editStep } from './edit-rules.ts'
import { beginJob, dueJobs, retryJob } from './job-rules.ts'
import { excessOf } from './plan-limits.ts'
import { usageOf } from './record-rules.ts'
import { LOCK_ACCOUNTS, type RemovalParts, removeRecords } from './removal-rules.ts'
import { restoreRecords, withFailures } from './restore-rules.ts'
import { newestPage } from './row-cursor.ts'
import { lockRecordRows } from './status-rules.ts'
import { isOver, undoRules } from './undo-rules.ts'

/** Maximum number of records that one transaction changes. */
const STEP = 50
/** Longer than any attempt, see `ChangeAttempt`. */
const LEASE_MS = 120_000
const NO_RECORDS = { rows: null }

type Stepped = { rows: RecordRow[] | null }

export function bulkRules(driver: CatalogueDriver, parts: BulkParts): BulkChanges & UndoPeriods {
  const { node } = parts
  const jobs = dueJobs(driver, 'bulk', node, DUE)
  const jobOf = (key: number) => ({ kind: 'bulk', key }) as const
  return {
    ...undoRules(driver, parts),
    add: change => driver.transaction(() => add(change), { lane: change.accountId }),
    get: async (accountId, name) => (await driver.first(BY_NAME, { accountId, name })) ?? undefined,
    list: accountId => driver.all(BY_ACCOUNT, { accountId }),
    recent: request => newestPage(before => driver.all(RECENT, before), request),
    undo: request => driver.transaction(() => undo(request), { lane: request.accountId }),
    remove: async step => {
      const { rows } = await driver.transaction<Stepped>(() => removeStep(parts, step), {
        patient: true,
        committed: made => parts.removed?.(made.rows ?? []),
      })
      await parts.dropReleased()
      return rows
    },
    edit: async step => {
      const { rows } = await driver.transaction<Edited>(() => editStep(parts, step), {
        patient: true,
        committed: made => {
          parts.removed?.(made.before)
          parts.added?.(made.rows ?? [])
        },
      })
      await parts.dropReleased()
      return rows
    },
    removed: (change, after, limit) => driver.all(REMOVED, { change, after, limit }),
    restore: async step => {
      const { rows } = await driver.transaction<Stepped>(() => restoreStep(parts, step), {
        patient: true,
        committed: made => parts.added?.(made.rows ?? []),
      })
      await parts.dropReleased()
      return rows
    },
    purge: async (id, now) => {
      const isMore = await driver.transaction(() => purge(parts, id, now), { patient: true })
      await parts.dropReleased()
      return isMore
    },
    due: query => jobs.due(ANY_NODE, query),
    nextDue: () => jobs.nextDue(ANY_NODE),
    begin: id =>
      driver.transaction(
        function* () {
          const job = yield* beginJob(jobOf(id), { node, leaseMs: LEASE_MS })
          return job === null ? undefined : ((yield* first(CHANGE_BY_ID, { id })) ?? undefined)
        },
        { durable: false },
      ),
    retry: (id, at, error) => driver.transaction(() => retryJob(jobOf(id), at, error)),
    pause: (change, now) => driver.transaction(() => schedule(change, now), { durable: false }),
  }
}

function* add(change: NewBulkChange): Rule<BulkChange> {
  const { accountId } = change
  if ((yield* first(LOCKED_ACCOUNT, { accountId })) === null) throw new HoldfastError('NOT_FOUND', 'no such account')
  if (((yield* first(COUNT_CHANGES, { accountId }))?.count ?? 0) >= MOST_CHANGES) {
    throw new HoldfastError('QUOTA_EXCEEDED', `an account has at most ${MOST_CHANGES} jobs within an hour`)
  }
  const made = yield* first(INSERT, change)
  const row = made === null ? null : yield* first(CHANGE_BY_ID, { id: made.id })
  if (row === null) throw new HoldfastError('INTERNAL_ERROR', 'the inserted row was not returned')
  yield* schedule(row, change.createdAt)
  return row
}

function* undo(request: { accountId: string; name: string; limits: PinLimits; now: number }): Rule<BulkChange> {
  const { accountId, name, limits, now } = request
  yield* first(LOCKED_ACCOUNT, { accountId })
  const found = yield* first(BY_NAME, { accountId, name })
  const change = found === null ? null : yield* first(LOCKED, { id: found.id })
  if (change === null) throw new HoldfastError('NOT_FOUND', 'no job has this id: see the list of jobs')
  if (change.action !== 'delete') throw new HoldfastError('CONFLICT', 'only a job that deletes can be undone')
  if (change.phase === 'undoing' || change.phase === 'undone') return change
  if (change.undoEnded !== null)
    throw new HoldfastError('CONFLICT', 'the undo period of this job ended early: undoEnded tells why')
  if (isOver(change, now)) throw new HoldfastError('CONFLICT', 'the undo period of this job is over')
  const excess = excessOf(usageWithRemoved(yield* usageOf(accountId, now), change), limits)
  if (excess !== null) throw new HoldfastError('QUOTA_EXCEEDED', excess)
  const undoing: BulkChange = { ...change, phase: 'undoing', place: '', endedAt: null, selection: '' }
  yield* run(SET_PROGRESS, undoing)
  yield* schedule(undoing, now)
  return undoing
}

function* removeStep(parts: BulkParts, step: SelectedStep): Rule<Stepped> {
  const { id, ids, next, now, isListed } = step
  const change = yield* lockedAt(step, 'running')
  if (change === null) return NO_RECORDS
  const isLive = ({ accountId, expiresAt }: RecordRow) =>
    accountId === change.accountId && (expiresAt === null || expiresAt > now)
  const found = (yield* lockRecordRows(ids)).filter(isLive)
  let freedBytes = 0
  const counting: RemovalParts = {
    ...parts,
    remove: (records, isCurrent) => (change.undoMs > 0 ? parts.keep(records) : parts.remove(records, isCurrent)),
    uncounted: (record, count) => {
      freedBytes -= count.storedBytes
      parts.uncounted?.(record, count)
    },
  }
  if (change.undoMs > 0) yield* run(KEEP, { change: id, ids: found.map(record => record.id) })
  const rows = yield* removeRecords(counting, found, true)
  const gone = new Set(rows.map(row => row.id))
  // A filter finds only records that exist, so a missing one was removed by another request.
  const missing = isListed ? ids.filter(one => !gone.has(one)) : []
  const failed = withFailures(
    change,
    missing.map(uploadId => ({ uploadId, code: 'NOT_FOUND' })),
  )
  const { done } = change
  yield* advance({ ...failed, done: done + rows.length, freedBytes: change.freedBytes + freedBytes }, next, 'done', now)
  return { rows }
}

function* restoreStep(parts: BulkParts, step: BulkStep & { limits: PinLimits }): Rule<Stepped> {
  const change = yield* lockedAt(step, 'undoing')
  if (change === null) return NO_RECORDS
  const isGone = (yield* first(LOCKED_ACCOUNT, { accountId: change.accountId })) === null
  const { rows, after } = isGone
    ? { rows: [], after: { ...change, undoMs: 0 } }
    : yield* restoreRecords(parts, change, step)
  yield* advance(after, isGone ? null : step.next, 'undone', step.now)
  return { rows }
}

function* purge(parts: BulkParts, id: number, now: number): Rule<boolean> {
  const known = yield* first(CHANGE_BY_ID, { id })
  if (known === null) return false
  // The kept bytes of the account change with its removed records.
  yield* first(LOCK_ACCOUNTS, { accounts: [known.accountId] })
  const change = yield* first(LOCKED, { id })
  if (change === null || change.endedAt === null) return false
  if (!isOver(change, now)) {
    // An attempt that was paused or repeated after the last step is due at once.
    yield* schedule(change, change.endedAt + change.undoMs)
    return false
  }
  const records = yield* all(REMOVED, { change: id, after: '', limit: STEP })
  if (records.length > 0) {
    yield* parts.release(records)
    yield* run(FORGET_REMOVED, { ids: records.map(record => record.id) })
    return true
  }
  const forgetAt = change.endedAt + CHANGE_KEPT_MS
  if (now >= forgetAt) yield* run(FORGET, { id })
  else yield* schedule(change, forgetAt)
  return false
}
