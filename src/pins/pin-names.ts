import { HoldfastError } from '../domain/errors.ts'
import { storedMeta } from './pin-meta.ts'
import type { PinNames } from './pin-types.ts'

const LONGEST_NAME = 255
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g

export interface StoredNames {
  name: string | null
  originalName: string | null
  customName: string | null
  /** JSON object with sorted keys. Null if there is no metadata. */
  meta: string | null
}

/**
 * Refuses an invalid custom name, but cleans and shortens a file or directory name.
 * @throws HoldfastError `VALIDATION`, which names the field, for over 255 characters or for control characters
 */
export function storedNames(names: PinNames): StoredNames {
  const originalName = checkedName('originalName', names.originalName)
  const customName = checkedName('customName', names.customName)
  const name = customName ?? originalName ?? fitted(names.name)
  return { name, originalName, customName, meta: storedMeta(names.meta) }
}

/** Trims a name. Returns null if the name is empty. @throws HoldfastError `VALIDATION`, which names the field */
export function checkedName(field: string, value: string | undefined): string | null {
  const name = value?.trim() ?? ''
  if (name === '') return null
  if (name.length > LONGEST_NAME) {
    throw new HoldfastError('VALIDATION', `${field} must have at most ${LONGEST_NAME} characters`)
  }
  if (name.search(CONTROL) !== -1) throw new HoldfastError('VALIDATION', `${field} must have no control characters`)
  return name
}

function fitted(value: string | undefined): string | null {
  // `slice` may split a surrogate pair. The database would replace the lone half by another character.
  const cut = (value ?? '').replaceAll(CONTROL, ' ').trim().slice(0, LONGEST_NAME)
  const name = cut.replace(/[\ud800-\udbff]$/, '').toWellFormed()
  return name === '' ? null : name
}
