import { Type } from 'typebox'
import type { ErrorCode } from '../../domain/errors.ts'
import { required } from '../body-reader.ts'

/** A TOTP code or a recovery code. Some clients send a TOTP code as a number. */
export const code = Type.Optional(Type.Union([required, Type.Integer({ minimum: 0 })]))

/** Clients use either of the two names. */
export const codeFields = { totpCode: code, twoFactorCode: code }

export const CODE_ERRORS: readonly ErrorCode[] = ['2fa_required', '2fa_invalid', 'RATE_LIMIT']

/** Converts a code to text. Restores the leading zeros of a number. */
export function codeOf(given: string | number | undefined): string | undefined {
  return typeof given === 'number' ? String(given).padStart(6, '0') : given
}
