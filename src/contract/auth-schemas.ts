import { Type } from 'typebox'
import { bodyReader } from './schemas.ts'

const text = Type.Optional(Type.String())
/** Digits, which some clients send as a number, or a recovery code. */
const code = Type.Optional(Type.Union([Type.String(), Type.Integer({ minimum: 0 })]))

const texts = Type.Optional(Type.Array(Type.String()))

/** The code of the second factor, under either name that clients have for it. */
const codeFields = { totpCode: code, twoFactorCode: code }

export const readLoginBody = bodyReader(Type.Object({ email: Type.String(), password: Type.String() }))

export const readVerifyLoginBody = bodyReader(Type.Object({ temporaryToken: Type.String(), code }))

export const readSignUpBody = bodyReader(Type.Object({ email: Type.String(), password: Type.String(), name: text }))

export const readProfileBody = bodyReader(Type.Object({ email: text, name: text }))

export const readPasswordBody = bodyReader(Type.Object({ currentPassword: Type.String(), newPassword: Type.String() }))

export const readEnableBody = bodyReader(Type.Object({ code }))

export const readDisableBody = bodyReader(Type.Object({ code, password: text }))

/** Types only: what a key may be is for the key service to say. */
export const readKeyBody = bodyReader(
  Type.Object({
    name: Type.String(),
    label: text,
    scopes: texts,
    permissions: texts,
    expiresInDays: Type.Optional(Type.Number()),
    ipAllowlist: texts,
    ...codeFields,
  }),
)

export const readRevokeBody = bodyReader(Type.Object({ name: Type.String(), ...codeFields }))

export const readCodeBody = bodyReader(Type.Object(codeFields))

/** A number has lost the zeros that it began with. */
export function codeOf(given: string | number | undefined): string | undefined {
  return typeof given === 'number' ? String(given).padStart(6, '0') : given
}
