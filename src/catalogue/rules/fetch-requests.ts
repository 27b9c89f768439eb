import { HoldfastError } from '../../domain/errors.ts'
import { type FetchRequest, OVER_QUOTA, type RequestedPin, type StatusChange } from '../fetches.ts'
import type { PinLimits, RecordRow } from '../records.ts'
import { first, type Rule, run } from './driver.ts'
import { type FetchParts, fetchFor } from './fetch-rows.ts'
import { checkUsage, excessOf, type LimitedUsage, ofWaiting } from './plan-limits.ts'
import { COUNT_UNFINISHED, SET_FETCH } from './record-statements.ts'

export interface WaitingRecords<Content> {
  /** Returns the live record with the same account, cluster, DAG, expiry, names and meta. */
  identical(request: FetchRequest): Rule<RecordRow | null>
  /** Returns what the account would have with a new record. `content` is null for a record that waits for its content. */
  usageWith(accountId: string, content: Content | null, limits: PinLimits, now: number): Rule<LimitedUsage>
  insert(row: RecordRow): Rule<RecordRow>
  fulfil(record: RecordRow, content: Content, now: number): Rule<RecordRow>
}

/** Inserts or retries a waiting record, and finds or creates its fetch. The caller has locked the account. */
export function* requestFetch(
  parts: FetchParts,
  records: WaitingRecords<never>,
  request: FetchRequest,
  begin: () => Rule<number>,
): Rule<RequestedPin & { isNew: boolean }> {
  const { record, limits, now, isAnew = false } = request
  const existing = isAnew ? null : yield* records.identical(request)
  if (existing !== null && existing.status !== 'failed') {
    return { record: existing, created: false, fetchId: existing.fetchId, changes: [], isNew: false }
  }
  if (existing === null) checkUsage(yield* records.usageWith(record.accountId, null, limits, now), limits)
  yield* checkQueued(record.accountId, limits)
  const { id: fetchId, isRunning, isNew } = yield* fetchFor(parts, request, begin)
  const changes: StatusChange[] = []
  let made: RecordRow
  if (existing === null) {
    made = yield* records.insert({ ...record, rootId: null, dagSize: 0, charge: 0, fetchId })
  } else {
    yield* run(SET_FETCH, { id: existing.id, fetchId })
    const queued = yield* parts.status.set(existing, 'queued', now, null)
    changes.push(queued)
    made = queued.record
  }
  if (isRunning) changes.push(yield* parts.status.set(made, 'pinning', now, null))
  return { record: made, created: existing === null, fetchId, changes, isNew }
}

function* checkQueued(accountId: string, { maxQueuedPins }: PinLimits): Rule<void> {
  if (maxQueuedPins === null) return
  const counted = yield* first(COUNT_UNFINISHED, { accountId, limit: maxQueuedPins })
  if ((counted?.count ?? 0) < maxQueuedPins) return
  throw new HoldfastError('QUOTA_EXCEEDED', `the plan allows ${maxQueuedPins} pins that wait for their content`)
}

/** Sets waiting records to `pinned`, or to `failed` if the account has too little storage left. */
export function* deliverTo<Content>(
  parts: FetchParts,
  records: WaitingRecords<Content>,
  {
    waiting,
    limits,
    now,
  }: {
    waiting: ReadonlyArray<{ record: RecordRow; content: Content }>
    limits: ReadonlyMap<string, PinLimits>
    now: number
  },
): Rule<StatusChange[]> {
  const changes: StatusChange[] = []
  for (const { record, content } of waiting) {
    const limit = limits.get(record.accountId)
    if (limit === undefined) continue
    const left = ofWaiting(limit)
    if (excessOf(yield* records.usageWith(record.accountId, content, left, now), left) === null) {
      const fulfilled = yield* records.fulfil(record, content, now)
      if (fulfilled.status !== record.status) changes.push({ record: fulfilled, from: record.status })
    } else {
      yield* run(SET_FETCH, { id: record.id, fetchId: null })
      changes.push(yield* parts.status.set(record, 'failed', now, OVER_QUOTA))
    }
  }
  return changes
}
