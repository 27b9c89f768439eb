import type { PageRequest } from '../catalogue/page.ts'
import { HoldfastError } from '../domain/errors.ts'

const ROWS = 100
const MOST_ROWS = 1_000

/** Which part is wanted of a list whose pages name the next. @throws HoldfastError `VALIDATION` for the limit. */
export function pageRequest(query: URLSearchParams): PageRequest {
  return { after: query.get('after'), limit: Math.min(positiveInteger(query, 'limit') ?? ROWS, MOST_ROWS) }
}

/** Throws `VALIDATION` for anything that is not a whole number from 1. A number too large to be exact is the largest. */
export function positiveInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^0*[1-9]\d*$/.test(text)) throw new HoldfastError('VALIDATION', `${name} must be a positive integer`)
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}
