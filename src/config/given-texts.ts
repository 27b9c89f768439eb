import { HoldfastError } from '../domain/errors.ts'
import { UNKEPT, unkeptIn } from '../domain/text.ts'

/** Throws a HoldfastError `VALIDATION` with the name of the field. */
export function checkTexts(given: unknown, field: string): void {
  const refused = unkeptIn(given, field)
  if (refused !== null) throw new HoldfastError('VALIDATION', `${refused} ${UNKEPT}`)
}
