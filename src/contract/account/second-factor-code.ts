import { Type } from 'typebox'
import type { ErrorCode } from '../../domain/errors.ts'
import { required } from '../body-reader.ts'

/** Digits, which some clients send as a number, or a recovery code. */
export const code = Type.Optional(Type.Union([required, Type.Integer({ minimum: 0 })]))

/** The code of the second factor, under either name that clients have for it. */
export const codeFields = { totpCode: code, twoFactorCode: code }

/** What a code of the second factor can be refused with. */
export const CODE_ERRORS: readonly ErrorCode[] = ['2fa_required', '2fa_invalid', 'RATE_LIMIT']

/** A number has lost the zeros that it began with. */
export function codeOf(given: string | number | undefined): string | undefined {
  return typeof given === 'number' ? String(given).padStart(6, '0') : given
}
