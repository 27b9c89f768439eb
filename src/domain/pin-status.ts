import { type ErrorCode, HoldfastError } from './errors.ts'

/** The states of a record, the same words on every surface. A deleted or expired record is gone. */
export type PinStatus = 'queued' | 'pinning' | 'pinned' | 'failed'

/** Why a record has the status that it has. */
export interface StatusReason {
  /** For programs; null where there is nothing to tell apart. */
  code: StatusCode | null
  /** For people, the code included. */
  text: string
}

/** What programs tell reasons apart by. `INCOMPLETE`: it was imported in part, and the rest is fetched. */
export type StatusCode = ErrorCode | 'INCOMPLETE'

/**
 * What may become what. Uploads are born `pinned`. `failed` goes back to `queued` by back-off or by an identical
 * request; `pinning` to `queued` when the process that was fetching has ended; `pinned` to `pinning` when some of the
 * content was found lost and is fetched again.
 */
const TRANSITIONS: Readonly<Record<PinStatus, readonly PinStatus[]>> = {
  queued: ['pinning', 'pinned', 'failed'],
  pinning: ['pinned', 'failed', 'queued'],
  pinned: ['pinning'],
  failed: ['queued'],
}

/**
 * Whether a record may go from one status to another.
 *
 * @throws HoldfastError `INTERNAL_ERROR` if a record in state `from` can never come into state `to`.
 */
export function checkTransition(from: PinStatus, to: PinStatus): void {
  if (!TRANSITIONS[from].includes(to)) throw new HoldfastError('INTERNAL_ERROR', `a ${from} pin cannot become ${to}`)
}
