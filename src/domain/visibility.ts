import { HoldfastError } from './errors.ts'

/** The readers of a record's content: everybody, or only its account. */
export type Visibility = 'public' | 'private'

export const VISIBILITIES: readonly Visibility[] = ['public', 'private']

/** @throws HoldfastError `VALIDATION`, which names the field */
export function checkedVisibility(value: unknown, field = 'visibility'): Visibility {
  if (value === 'public' || value === 'private') return value
  throw new HoldfastError('VALIDATION', `${field} must be "public" or "private"`)
}
