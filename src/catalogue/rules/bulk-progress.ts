import type { BulkChange, BulkStep } from '../bulk-changes.ts'
import { CHANGE_BY_ID, LOCKED, SET_PROGRESS } from './bulk-rows.ts'
import { first, type Rule, run } from './driver.ts'
import { enqueue } from './job-rules.ts'
import { LOCK_ACCOUNTS } from './removal-rules.ts'

/** Any node carries out the jobs of a catalogue. */
export const ANY_NODE = ''

/** Returns the change of a step, or null if the change is not where the step begins. */
export function* lockedAt({ id, place }: BulkStep, phase: BulkChange['phase']): Rule<BulkChange | null> {
  const known = yield* first(CHANGE_BY_ID, { id })
  if (known === null) return null
  yield* first(LOCK_ACCOUNTS, { accounts: [known.accountId] })
  const change = yield* first(LOCKED, { id })
  return change === null || change.phase !== phase || change.place !== place ? null : change
}

/** Stores the progress of a change. The job of an ended change is due when its undo period ends. */
export function* advance(change: BulkChange, next: string | null, end: BulkChange['phase'], now: number): Rule<void> {
  if (next !== null) {
    yield* run(SET_PROGRESS, { ...change, place: next })
    return
  }
  const ended = { ...change, phase: end, place: '', endedAt: now, selection: '' }
  yield* run(SET_PROGRESS, ended)
  yield* schedule(ended, now + change.undoMs)
}

export function* schedule({ id, accountId }: BulkChange, dueAt: number): Rule<void> {
  yield* enqueue({ kind: 'bulk', key: id, queue: ANY_NODE, accountId, dueAt, error: null })
}
