import { Type } from 'typebox'
import { MAX_ALLOWLIST } from '../access/key-input.ts'
import { bodyReader, required } from './schemas.ts'

const text = Type.Optional(required)
/** Digits, which some clients send as a number, or a recovery code. */
const code = Type.Optional(Type.Union([required, Type.Integer({ minimum: 0 })]))

/** Repetition is allowed, within reason; no scope and no network is longer. */
const words = Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 32 }))
const networks = Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: MAX_ALLOWLIST }))

/** The code of the second factor, under either name that clients have for it. */
const codeFields = { totpCode: code, twoFactorCode: code }

export const readLoginBody = bodyReader(Type.Object({ email: required, password: required }))

export const readVerifyLoginBody = bodyReader(Type.Object({ temporaryToken: required, code }))

export const readSignUpBody = bodyReader(Type.Object({ email: required, password: required, name: text }))

export const readProfileBody = bodyReader(Type.Object({ email: text, name: text }))

export const readPasswordBody = bodyReader(Type.Object({ currentPassword: required, newPassword: required }))

export const readEnableBody = bodyReader(Type.Object({ code }))

export const readDisableBody = bodyReader(Type.Object({ code, password: text }))

/** Types only: what a key may be is for the key service to say. */
export const readKeyBody = bodyReader(
  Type.Object({
    name: required,
    label: text,
    scopes: words,
    permissions: words,
    expiresInDays: Type.Optional(Type.Number()),
    ipAllowlist: networks,
    ...codeFields,
  }),
)

export const readRevokeBody = bodyReader(Type.Object({ name: required, ...codeFields }))

export const readCodeBody = bodyReader(Type.Object(codeFields))

/** A number has lost the zeros that it began with. */
export function codeOf(given: string | number | undefined): string | undefined {
  return typeof given === 'number' ? String(given).padStart(6, '0') : given
}
