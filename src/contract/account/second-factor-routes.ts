import { Type } from 'typebox'
import { HoldfastError } from '../../domain/errors.ts'
import { text } from '../answer-fields.ts'
import { optional } from '../body-reader.ts'
import { type ContractRoute, json, route } from '../contract-route.ts'
import { CODE_ERRORS, code, codeOf } from './second-factor-code.ts'

export const SecondFactorSetupView = Type.Object(
  {
    secret: Type.String({ description: 'in Base32' }),
    otpauthUrl: Type.String({ description: 'the secret as a URL, to show as a QR code' }),
  },
  { title: 'SecondFactorSetup' },
)

/** The new secret is not in force until `enable` receives a code that is derived from the secret. */
const setup = route({
  method: 'POST',
  path: '/auth/2fa/setup',
  audit: 'second-factor.setup',
  access: 'session',
  tag: 'Signing in',
  summary: 'Set up a second factor: a secret for an authenticator app',
  details: 'It takes effect when `/auth/2fa/enable` receives a code from it.',
  answers: { 200: SecondFactorSetupView },
  errors: ['CONFLICT', 'proof_required'],
  handler: async ({ principal }, { secondFactor, proofs }) => {
    await proofs.check(principal)
    return { status: 200, body: await secondFactor.begin(principal.account) }
  },
})

/** No other route returns the recovery codes. */
const enable = route({
  method: 'POST',
  path: '/auth/2fa/enable',
  audit: 'second-factor.enable',
  access: 'session',
  tag: 'Signing in',
  summary: 'Enable the second factor',
  body: json(Type.Object({ code })),
  answers: {
    200: Type.Object(
      {
        enabled: Type.Literal(true),
        recoveryCodes: Type.Array(text, { description: 'each valid once; shown only once' }),
      },
      { title: 'SecondFactorEnabled' },
    ),
  },
  errors: ['CONFLICT', 'proof_required', ...CODE_ERRORS],
  handler: async ({ principal, body }, { secondFactor, proofs }) => {
    const { code } = await body()
    await proofs.check(principal)
    const recoveryCodes = await secondFactor.enable(principal.account.id, codeOf(code))
    return { status: 200, body: { enabled: true, recoveryCodes } }
  },
})

const disable = route({
  method: 'POST',
  path: '/auth/2fa/disable',
  audit: 'second-factor.disable',
  access: 'session',
  tag: 'Signing in',
  summary: 'Disable the second factor',
  details: 'Needs a code, a recovery code or the password.',
  body: json(Type.Object({ code, password: optional })),
  answers: { 200: Type.Object({ enabled: Type.Literal(false) }, { title: 'SecondFactorDisabled' }) },
  errors: ['CONFLICT', ...CODE_ERRORS],
  handler: async ({ principal, body }, { secondFactor, passwords }) => {
    const { id } = principal.account
    const { code, password } = await body()
    if (!(await secondFactor.isEnabled(id))) throw new HoldfastError('CONFLICT', 'two-factor authentication is not on')
    if (code === undefined && password !== undefined) await passwords.confirm(id, password, 'password')
    else await secondFactor.check(id, codeOf(code))
    await secondFactor.disable(id)
    return { status: 200, body: { enabled: false } }
  },
})

export const secondFactorRoutes: readonly ContractRoute[] = [setup, enable, disable]
