import { HoldfastError } from '../domain/errors.ts'
import { storedMeta } from './pin-meta.ts'
import type { PinNames } from './pin-types.ts'

const LONGEST_NAME = 255
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g

export interface StoredNames {
  name: string | null
  originalName: string | null
  customName: string | null
  /** JSON object with sorted keys; null if empty. */
  meta: string | null
}

/**
 * Returns the names of a record as stored. Names chosen by the client are checked. The upload's own name, such as a
 * file name, is cut and cleaned instead of refused.
 *
 * @throws HoldfastError `VALIDATION` naming the field: more than 255 characters, or control characters
 */
export function storedNames(names: PinNames): StoredNames {
  const originalName = checkedName('originalName', names.originalName)
  const customName = checkedName('customName', names.customName)
  const name = customName ?? originalName ?? fitted(names.name)
  return { name, originalName, customName, meta: storedMeta(names.meta) }
}

/**
 * Returns a name chosen by the client, trimmed; null if it is empty.
 *
 * @throws HoldfastError `VALIDATION` naming the field
 */
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
  // Cutting may split a surrogate pair. A lone half would be stored as another character than the answer shows.
  const cut = (value ?? '').replaceAll(CONTROL, ' ').trim().slice(0, LONGEST_NAME)
  const name = cut.replace(/[\ud800-\udbff]$/, '').toWellFormed()
  return name === '' ? null : name
}
