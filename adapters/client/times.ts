import { type ErrorCode, HoldfastError } from '../../src/domain/errors.ts'

/** Returns a time as ISO 8601. @throws HoldfastError with the code for an invalid `Date` */
export function isoTime(
  time: string | Date | undefined,
  field: string,
  code: ErrorCode = 'VALIDATION',
): string | undefined {
  if (!(time instanceof Date)) return time
  if (Number.isNaN(time.getTime())) throw new HoldfastError(code, `${field} is not a date`)
  return time.toISOString()
}
