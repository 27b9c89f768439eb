import { HoldfastError } from '../domain/errors.ts'

/** Throws `VALIDATION` for anything that is not a whole number from 1. A number too large to be exact is the largest. */
export function positiveInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^0*[1-9]\d*$/.test(text)) throw new HoldfastError('VALIDATION', `${name} must be a positive integer`)
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}
