import type { PageRequest } from '../catalogue/page.ts'
import { HoldfastError } from '../domain/errors.ts'

const ROWS = 100
const MOST_ROWS = 1_000

/**
 * Parses the page of a list whose pages name the next one.
 *
 * @throws HoldfastError `VALIDATION` for an invalid limit
 */
export function pageRequest(query: URLSearchParams): PageRequest {
  return { after: query.get('after'), limit: Math.min(positiveInteger(query, 'limit') ?? ROWS, MOST_ROWS) }
}

/**
 * Parses a positive integer; undefined if it is missing. Clamps it to the largest exact number.
 *
 * @throws HoldfastError `VALIDATION` for any other value
 */
export function positiveInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^0*[1-9]\d*$/.test(text)) throw new HoldfastError('VALIDATION', `${name} must be a positive integer`)
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}
