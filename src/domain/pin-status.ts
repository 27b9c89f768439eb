import { type ErrorCode, HoldfastError } from './errors.ts'

/** Status of a record, with the same values in all APIs. A deleted or expired record has no status. */
export type PinStatus = 'queued' | 'pinning' | 'pinned' | 'failed'

/** Reason for a record's status. */
export interface StatusReason {
  /** Code for programs, or null if programs need no distinction. */
  code: StatusCode | null
  /** Text for people, which includes the code. */
  text: string
}

/**
 * `INCOMPLETE`: a part of the record's content was imported, and the rest is being fetched. `LOST`: the content
 * was lost with a node.
 */
export type StatusCode = ErrorCode | 'INCOMPLETE' | 'LOST'

/**
 * Allowed transitions. Uploads start as `pinned`. Four transitions go back:
 * - `failed` to `queued`: after a backoff, or because of an identical request;
 * - `pinning` to `queued`: after the process that fetched the content has ended;
 * - `pinned` to `pinning`: because lost content is fetched again;
 * - `pinned` to `failed`: because the owner has given up the last node that had the content.
 */
const TRANSITIONS: Readonly<Record<PinStatus, readonly PinStatus[]>> = {
  queued: ['pinning', 'pinned', 'failed'],
  pinning: ['pinned', 'failed', 'queued'],
  pinned: ['pinning', 'failed'],
  failed: ['queued'],
}

/** Throws a HoldfastError `INTERNAL_ERROR` if the transition is not allowed. */
export function checkTransition(from: PinStatus, to: PinStatus): void {
  if (!TRANSITIONS[from].includes(to)) throw new HoldfastError('INTERNAL_ERROR', `a ${from} pin cannot become ${to}`)
}
