import { Type } from 'typebox'
import type { ErrorCode } from '../../domain/errors.ts'
import { required } from '../body-reader.ts'

/** A TOTP code, which some clients send as a number, or a recovery code. */
export const code = Type.Optional(Type.Union([required, Type.Integer({ minimum: 0 })]))

/** The second-factor code, under both names that clients use. */
export const codeFields = { totpCode: code, twoFactorCode: code }

/** Errors of a second-factor code. */
export const CODE_ERRORS: readonly ErrorCode[] = ['2fa_required', '2fa_invalid', 'RATE_LIMIT']

/** Converts a code to text. A number has lost its leading zeros. */
export function codeOf(given: string | number | undefined): string | undefined {
  return typeof given === 'number' ? String(given).padStart(6, '0') : given
}
