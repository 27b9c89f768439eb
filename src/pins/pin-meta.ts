import { HoldfastError } from '../domain/errors.ts'

const MOST_KEYS = 64
const LONGEST_KEY = 255
const MOST_BYTES = 4_096

/**
 * Meta as it is stored: a JSON object of texts, its keys sorted; null for none.
 *
 * @throws HoldfastError `VALIDATION` naming what is wrong with it
 */
export function storedMeta(given: unknown): string | null {
  const entries = Object.entries(checkedMeta(given))
  if (entries.length === 0) return null
  return JSON.stringify(Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1))))
}

/** Meta as it was given. Throws what {@link storedMeta} throws. */
export function checkedMeta(given: unknown): Record<string, string> {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'object' || Array.isArray(given)) throw invalid('meta must be an object of texts')
  const entries = Object.entries(given)
  if (entries.length > MOST_KEYS) throw invalid(`meta must have at most ${MOST_KEYS} keys`)
  // A prototype of its own would take "__proto__" for something else than a key.
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
