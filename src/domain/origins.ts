import { HoldfastError } from './errors.ts'

/** Maximum number of origins that one fetch asks. Requests of several accounts may name more. */
export const FETCH_ORIGINS = 20

export function badOrigins(problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError('VALIDATION', `origins: ${problem}`, { cause })
}

export function tooManyOrigins(): HoldfastError {
  return badOrigins(`has more than ${FETCH_ORIGINS} entries`)
}
