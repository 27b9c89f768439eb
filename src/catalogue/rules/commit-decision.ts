import type { DagIdentity } from '../../ipld/cid.ts'
import type { PinLimits, RecordRow } from '../records.ts'
import { checkUsage, type LimitedUsage } from './plan-limits.ts'

/** A DAG, and the bytes that the quota counts for it. */
export type ChargedDag = DagIdentity & { charge: number }

/** `repeat`: the identical record has its content. `fulfil`: the identical record waits for it. */
export type CommitDecision = { does: 'insert'; existing: null } | { does: 'repeat' | 'fulfil'; existing: RecordRow }

/**
 * Decides what the commit of a whole DAG does.
 *
 * @param existing the identical record
 * @param usage what the account would have with a new record of the DAG
 * @throws HoldfastError `QUOTA_EXCEEDED`
 */
export function decideCommit(existing: RecordRow | undefined, usage: LimitedUsage, limits: PinLimits): CommitDecision {
  if (existing === undefined) {
    checkUsage(usage, limits)
    return { does: 'insert', existing: null }
  }
  if (existing.rootId !== null) return { does: 'repeat', existing }
  // The waiting record counts as a pin already.
  checkUsage({ ...usage, pins: null }, limits)
  return { does: 'fulfil', existing }
}
