import { isOverlongName } from '../catalogue/overlong-name.ts'
import { LONGEST_NAME } from '../catalogue/records.ts'
import { invalid } from '../domain/errors.ts'
import type { PinNames } from './pin-types.ts'

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

/** Returns a part of a name, with its spaces. @throws HoldfastError `VALIDATION` */
function checkedText(field: string, value = ''): string {
  if (isOverlongName(value)) throw invalid(`${field} must have at most ${LONGEST_NAME} characters`)
  if (value.search(CONTROL) !== -1) throw invalid(`${field} must have no control characters`)
  return value
}

/** Trims a name. Returns null if the name is empty. @throws HoldfastError `VALIDATION`, which names the field */
export function checkedName(field: string, value: string | undefined): string | null {
  const name = value?.trim() ?? ''
  if (name === '') return null
  return checkedText(field, name)
}

function fitted(value: string | undefined): string | null {
  // `slice` may split a surrogate pair. The database would replace the lone half by another character.
  const cut = (value ?? '').replaceAll(CONTROL, ' ').trim().slice(0, LONGEST_NAME)
  const name = cut.replace(/[\ud800-\udbff]$/, '').toWellFormed()
  return name === '' ? null : name
}

const MOST_KEYS = 64
const LONGEST_KEY = 255
const MOST_BYTES = 4_096

/**
 * Returns metadata as a JSON object of strings with sorted keys, or null if empty.
 * @throws HoldfastError `VALIDATION`
 */
export function storedMeta(given: unknown): string | null {
  const entries = Object.entries(checkedMeta(given))
  if (entries.length === 0) return null
  return JSON.stringify(Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1))))
}

/** Returns valid metadata with its keys in the given order. @throws HoldfastError `VALIDATION` */
export function checkedMeta(given: unknown): Record<string, string> {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'object' || Array.isArray(given)) throw invalid('meta must be an object of texts')
  const entries = Object.entries(given)
  if (entries.length > MOST_KEYS) throw invalid(`meta must have at most ${MOST_KEYS} keys`)
  // In an object without a prototype, "__proto__" is an ordinary key.
  const meta: Record<string, string> = Object.create(null)
  for (const [key, value] of entries) {
    if (key === '' || key.length > LONGEST_KEY) throw invalid(`meta: keys must have 1 to ${LONGEST_KEY} characters`)
    if (typeof value !== 'string') throw invalid(`meta: the value of ${JSON.stringify(key)} must be text`)
    meta[key] = value
  }
  if (Buffer.byteLength(JSON.stringify(meta)) > MOST_BYTES)
    throw invalid(`meta must have at most ${MOST_BYTES} bytes as JSON`)
  return meta
}

export { checkedText } // feature: bulk
