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
  /** A JSON object, its keys sorted; null for none. */
  meta: string | null
}

/**
 * The names of a record. Those that a client chose are checked; the upload's own name came with its bytes, so it is
 * made to fit rather than refused.
 *
 * @throws HoldfastError `VALIDATION` naming the field: over 255 characters, or with control characters.
 */
export function storedNames(names: PinNames): StoredNames {
  const originalName = checkedName('originalName', names.originalName)
  const customName = checkedName('customName', names.customName)
  const name = customName ?? originalName ?? fitted(names.name)
  return { name, originalName, customName, meta: storedMeta(names.meta) }
}

/** A name that a client chose, trimmed; null if empty. @throws HoldfastError `VALIDATION` naming the field. */
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
  // The cut may leave half a character, which would be kept as another one than told.
  const cut = (value ?? '').replaceAll(CONTROL, ' ').trim().slice(0, LONGEST_NAME)
  const name = cut.replace(/[\ud800-\udbff]$/, '').toWellFormed()
  return name === '' ? null : name
}
