import { type ErrorCode, HoldfastError } from './errors.ts'

/** States of a record, the same words on every surface. A deleted or expired record has none. */
export type PinStatus = 'queued' | 'pinning' | 'pinned' | 'failed'

/** Reason of a record's status. */
export interface StatusReason {
  /** Code for programs; null if there is nothing to distinguish. */
  code: StatusCode | null
  /** Text for people, code included. */
  text: string
}

/** Codes of reasons. `INCOMPLETE`: the record was imported in part, and the rest is being fetched. */
export type StatusCode = ErrorCode | 'INCOMPLETE'

/**
 * Allowed transitions. Uploads start as `pinned`. Three transitions go back:
 * - `failed` to `queued`, by back-off or by an identical request;
 * - `pinning` to `queued`, when the fetching process has ended;
 * - `pinned` to `pinning`, when lost content is fetched again.
 */
const TRANSITIONS: Readonly<Record<PinStatus, readonly PinStatus[]>> = {
  queued: ['pinning', 'pinned', 'failed'],
  pinning: ['pinned', 'failed', 'queued'],
  pinned: ['pinning'],
  failed: ['queued'],
}

/**
 * Checks that a record may change from one status to another.
 *
 * @throws HoldfastError `INTERNAL_ERROR` if it may not
 */
export function checkTransition(from: PinStatus, to: PinStatus): void {
  if (!TRANSITIONS[from].includes(to)) throw new HoldfastError('INTERNAL_ERROR', `a ${from} pin cannot become ${to}`)
}
