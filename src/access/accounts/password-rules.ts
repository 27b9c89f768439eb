import { HoldfastError } from '../../domain/errors.ts'

const MIN_LENGTH = 8
const MAX_LENGTH = 1_024

/**
 * Checks that a password has 8 to 1,024 characters.
 * @throws HoldfastError `VALIDATION`, which names `field`
 */
export function checkNewPassword(password: string, field = 'password'): void {
  const length = [...password].length
  if (length >= MIN_LENGTH && length <= MAX_LENGTH) return
  throw new HoldfastError('VALIDATION', `${field} must have ${MIN_LENGTH} to ${MAX_LENGTH} characters`)
}
