import type { HoldfastError } from '../../src/domain/errors.ts'

/** Returns whether the error came from the server. */
export function isRefusal({ details }: HoldfastError): boolean {
  return details.status !== undefined
}

export function describeError(error: HoldfastError): string {
  return isRefusal(error) ? `${error.message} (${error.details.status} ${error.code})` : error.message
}
