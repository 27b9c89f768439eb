import { HoldfastError } from '../../domain/errors.ts'
import type { DagIdentity } from '../../ipld/cid.ts'
import type { PinLimits, RecordRow } from '../records.ts'

/** Returns why an account may not store more, in the words of every refusal. */
export function overStorage({
  maxStorageBytes,
  undeletedBytes = 0,
}: Omit<PinLimits, 'maxPins' | 'maxQueuedPins'>): string {
  const allowed = `the plan allows ${(maxStorageBytes ?? 0) + undeletedBytes} bytes of storage`
  if (undeletedBytes === 0) return allowed
  return `${allowed}. While a backup or a set-back stops deletion, ${undeletedBytes} bytes that were deleted count too`
}

/** Usage of an account with more records. A part is null if no limit holds for it, or the records add none. */
export interface LimitedUsage {
  pins: number | null
  storedBytes: number | null
}

/** Returns which limit of the plan a usage exceeds, or null if it exceeds none. */
export function excessOf({ pins, storedBytes }: LimitedUsage, limits: PinLimits): string | null {
  const { maxPins, maxStorageBytes } = limits
  if (maxPins !== null && pins !== null && pins > maxPins) return `the plan allows ${maxPins} pins`
  if (maxStorageBytes === null || storedBytes === null || storedBytes <= maxStorageBytes) return null
  return overStorage(limits)
}

/** @throws HoldfastError `QUOTA_EXCEEDED` if the plan does not allow the usage */
export function checkUsage(usage: LimitedUsage, limits: PinLimits): void {
  const excess = excessOf(usage, limits)
  if (excess !== null) throw new HoldfastError('QUOTA_EXCEEDED', excess)
}

/** Returns the limits for the content of a waiting record, which counts as a pin already. */
export function ofWaiting(limits: PinLimits): PinLimits {
  return { ...limits, maxPins: null }
}

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
  checkUsage(usage, ofWaiting(limits))
  return { does: 'fulfil', existing }
}
