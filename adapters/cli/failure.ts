import type { HoldfastError } from '../../src/domain/errors.ts'

/** Whether a server has said it, and not this command line. */
export function isRefusal({ details }: HoldfastError): boolean {
  return details.status !== undefined
}

/** What went wrong, in a line; of what a server has said with the status and the code, by which it can be looked up. */
export function describeError(error: HoldfastError): string {
  return isRefusal(error) ? `${error.message} (${error.details.status} ${error.code})` : error.message
}
