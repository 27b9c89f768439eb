import { HoldfastError } from './errors.ts'

/** The readers of a record's content: everybody, or only its account. */
export type Visibility = 'public' | 'private'

export const VISIBILITIES: readonly Visibility[] = ['public', 'private']

/** The records of a list: those of one visibility, or those that catalogue and node called differently. */
export type VisibilityFilter = Visibility | 'disputed'

export const VISIBILITY_FILTERS: readonly VisibilityFilter[] = [...VISIBILITIES, 'disputed']

/**
 * Stored content that a record may be made of, apart from the content of the request itself:
 * - `public`: only public content
 * - `own`: private content of the account, too. The record is then private.
 * - `share`: the same, but the record is public if the request asks for it
 */
export type Adoption = 'public' | 'own' | 'share'

export function otherVisibility(visibility: Visibility): Visibility {
  return visibility === 'public' ? 'private' : 'public'
}

/** @throws HoldfastError `VALIDATION`, which names the field */
export function checkedVisibility(value: unknown, field = 'visibility'): Visibility {
  if (value === 'public' || value === 'private') return value
  throw new HoldfastError('VALIDATION', `${field} must be "public" or "private"`)
}
