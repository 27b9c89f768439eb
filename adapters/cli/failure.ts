import type { HoldfastError } from '../../src/domain/errors.ts'

/** Returns whether the error is a refusal by the server. */
export function isRefusal({ details }: HoldfastError): boolean {
  return details.status !== undefined
}

/** Describes an error in one line. The line of a refusal ends with the HTTP status and the code. */
export function describeError(error: HoldfastError): string {
  return isRefusal(error) ? `${error.message} (${error.details.status} ${error.code})` : error.message
}
