import { Type } from 'typebox'
import type { Account } from '../../access/principal.ts'
import { iso } from '../../domain/iso-instant.ts'
import { instant, text } from '../answer-fields.ts'
import { identifier, optional, required } from '../body-reader.ts'
import { type ContractRoute, json, optionalJson, route } from '../contract-route.ts'
import { CODE_ERRORS, code, codeOf } from './second-factor-code.ts'
import { accountView, User } from './user-fields.ts'

const sessionFields = { token: Type.String({ description: 'valid for 24 hours' }), user: User }
export const SignInAnswer = Type.Object(sessionFields, { title: 'Session' })
export const SecondFactorAsked = Type.Object({
  requires2FA: Type.Literal(true),
  temporaryToken: Type.String({ description: 'works once, and expires after five minutes' }),
})
const Login = Type.Union([Type.Object(sessionFields), SecondFactorAsked], { title: 'Login' })

const keep = Type.Optional(
  Type.Boolean({
    description:
      'True for a session that the browser keeps over a reload, as the console does. It then makes nothing that ' +
      'outlives it without a recent proof (`POST /auth/proof`).',
  }),
)

const signUp = route({
  method: 'POST',
  path: '/auth/signup',
  audit: 'signup',
  access: 'public',
  tag: 'Signing in',
  summary: 'Create an account',
  details: 'Only if the operator of the node has enabled sign-up.',
  body: json(Type.Object({ email: required, password: required, name: optional })),
  answers: { 201: Type.Object({ message: text, user: User }, { title: 'SignedUp' }) },
  errors: ['NOT_OFFERED', 'CONFLICT', 'RATE_LIMIT'],
  handler: async ({ request, body, audits }, services) => {
    const account = await services.signUp.signUp(await body(), request.remoteAddress)
    audits({ account })
    const user = await accountView(services, account)
    return { status: 201, body: { message: 'account created, sign in now', user } }
  },
})

const login = route({
  method: 'POST',
  path: '/auth/login',
  audit: 'sign-in',
  access: 'public',
  tag: 'Signing in',
  summary: 'Sign in with email and password',
  details:
    'The token is a session: a credential with every scope for 24 hours. An account with a second factor gets a ' +
    'temporary token instead, for `/auth/2fa/verify-login`. After too many failures, an account is locked for 15 ' +
    'minutes, with the same answer as a wrong password, and an address gets 429.',
  body: json(Type.Object({ email: required, password: required, keep })),
  answers: { 200: Login },
  errors: ['INVALID_API_KEY', 'account_disabled', 'RATE_LIMIT'],
  handler: async ({ request, body, audits }, services) => {
    const outcome = await services.logins.login(await body(), request.remoteAddress, account => audits({ account }))
    if ('temporaryToken' in outcome) {
      audits({ outcome: '2fa_required' })
      return { status: 200, body: { requires2FA: true, temporaryToken: outcome.temporaryToken } }
    }
    return { status: 200, body: { token: outcome.token, user: await accountView(services, outcome.account) } }
  },
})

const verifyLogin = route({
  method: 'POST',
  path: '/auth/2fa/verify-login',
  audit: 'sign-in.code',
  access: 'public',
  tag: 'Signing in',
  summary: 'Complete a sign-in with a second-factor code',
  details: 'The temporary token is valid once, for five minutes. The code may be a recovery code.',
  body: json(Type.Object({ temporaryToken: identifier, code, keep })),
  answers: { 200: SignInAnswer },
  errors: ['INVALID_API_KEY', 'account_disabled', ...CODE_ERRORS],
  handler: async ({ request, body, audits }, services) => {
    const { temporaryToken, code, keep } = await body()
    const input = { temporaryToken, code: codeOf(code), keep }
    const named = (account: Account): void => audits({ account })
    const { token, account } = await services.logins.verifyLogin(input, request.remoteAddress, named)
    return { status: 200, body: { token, user: await accountView(services, account) } }
  },
})

const setPassword = route({
  method: 'POST',
  path: '/auth/password',
  audit: 'password.set',
  access: 'public',
  tag: 'Signing in',
  summary: 'Set the password with a link',
  details:
    'The owner of the node makes the link. Its token works once, for a day. All sessions of the account end. Keys and ' +
    'a second factor stay.',
  body: json(Type.Object({ token: identifier, password: required })),
  answers: { 200: Type.Object({ message: text, email: text }, { title: 'PasswordSet' }) },
  errors: ['INVALID_API_KEY', 'RATE_LIMIT'],
  handler: async ({ request, body, audits }, { passwordLinks, logins }) => {
    const account = await passwordLinks.use(await body(), request.remoteAddress)
    audits({ account })
    const { email } = account
    await logins.unlock(email)
    return { status: 200, body: { message: 'password set, sign in now', email } }
  },
})

const startProvider = route({
  method: 'POST',
  path: '/auth/provider/start',
  access: 'public',
  tag: 'Signing in',
  summary: 'Begin a sign-in with the provider of the node',
  details:
    'Keep `secret` in the tab, and open `url`. The provider sends the browser back to the console with a query, for ' +
    '`/auth/provider/finish`. With `proof: true` the provider asks the user again, for `/auth/proof`.',
  body: optionalJson(Type.Object({ proof: Type.Optional(Type.Boolean()) })),
  answers: { 200: Type.Object({ url: text, secret: text }, { title: 'ProviderSignIn' }) },
  errors: ['NOT_OFFERED', 'RATE_LIMIT', 'UNAVAILABLE'],
  handler: async ({ request, body }, { providerLogins }) => {
    const { url, secret } = await providerLogins.start(request.remoteAddress, (await body()).proof)
    return { status: 200, body: { url, secret } }
  },
})

const finishProvider = route({
  method: 'POST',
  path: '/auth/provider/finish',
  audit: 'sign-in.provider',
  access: 'public',
  tag: 'Signing in',
  summary: 'Complete a sign-in with the provider',
  details: 'The session ends after an hour. An account with a second factor gets a temporary token instead.',
  body: json(Type.Object({ secret: identifier, answer: required, keep })),
  answers: { 200: Login },
  errors: ['INVALID_API_KEY', 'account_disabled', 'NOT_OFFERED', 'RATE_LIMIT', 'UNAVAILABLE'],
  handler: async ({ request, body, audits }, services) => {
    const outcome = await services.providerLogins.finish(await body(), request.remoteAddress)
    if ('temporaryToken' in outcome) {
      audits({ outcome: '2fa_required' })
      return { status: 200, body: { requires2FA: true, temporaryToken: outcome.temporaryToken } }
    }
    audits({ account: outcome.account })
    return { status: 200, body: { token: outcome.token, user: await accountView(services, outcome.account) } }
  },
})

const prove = route({
  method: 'POST',
  path: '/auth/proof',
  audit: 'sign-in.proof',
  access: 'authenticated',
  tag: 'Signing in',
  summary: 'Confirm a sign-in that the console keeps',
  details:
    'Kept sign-ins are keys of `POST /tokens/console` and sessions with `keep`. For 15 minutes after a sign-in or a ' +
    'proof they make what outlives them: keys, accounts, password links, ' +
    'webhooks, ' + // feature: webhooks
    'a second factor, another email. ' +
    'Later they get 403 `proof_required`, whose `proof` is `key`, `password` or `provider`. Other keys and sessions ' +
    'are never asked. Send the `key` that signed in, the `password`, or `secret` and `answer` of a sign-in with the ' +
    'provider. An account with a second factor must send a code.',
  body: json(Type.Object({ key: optional, password: optional, secret: optional, answer: optional, code })),
  answers: { 200: Type.Object({ until: instant }, { title: 'Proved' }) },
  errors: ['CONFLICT', 'NOT_OFFERED', 'UNAVAILABLE', ...CODE_ERRORS],
  handler: async ({ principal, request, body }, { proofs }) => {
    const { code, ...given } = await body()
    const until = await proofs.prove(principal, { ...given, code: codeOf(code) }, request.remoteAddress)
    return { status: 200, body: { until: iso(until) } }
  },
})

const logout = route({
  method: 'POST',
  path: '/auth/logout',
  audit: 'sign-out',
  access: 'authenticated',
  tag: 'Signing in',
  summary: 'End the session',
  details: 'Also revokes a key of `POST /tokens/console`. Other API keys are not affected.',
  answers: { 200: Type.Object({ message: text }, { title: 'Message' }) },
  handler: async ({ principal }, { keys, sessions }) => {
    const { kind, id } = principal.credential
    if (await keys.endConsole(principal)) return { status: 200, body: { message: 'signed out' } }
    if (kind === 'key')
      return { status: 200, body: { message: 'an API key has no session; it is valid until revoked' } }
    await sessions.end(id)
    return { status: 200, body: { message: 'signed out' } }
  },
})

export const authRoutes: readonly ContractRoute[] = [
  signUp,
  login,
  verifyLogin,
  startProvider,
  finishProvider,
  setPassword,
  prove,
  logout,
]
