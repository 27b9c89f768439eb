import { HoldfastError } from '../domain/errors.ts'

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

function invalid(message: string): HoldfastError {
  return new HoldfastError('VALIDATION', message)
}
