import type { HoldfastError } from '../../src/domain/errors.ts'

/** Checks whether the error is a server's refusal. */
export function isRefusal({ details }: HoldfastError): boolean {
  return details.status !== undefined
}

/** Describes an error in one line, for a refusal with status and code. */
export function describeError(error: HoldfastError): string {
  return isRefusal(error) ? `${error.message} (${error.details.status} ${error.code})` : error.message
}
