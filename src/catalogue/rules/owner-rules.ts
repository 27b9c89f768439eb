import { HoldfastError } from '../../domain/errors.ts'

/** Returns the error for a change of the visibility of a record whose content has not arrived. */
export function stillAwaited(): HoldfastError {
  return new HoldfastError('CONFLICT', 'visibility: the content has not arrived yet; try again when it is pinned')
}
