import { Type } from 'typebox'
import { text } from '../answer-fields.ts'
import { identifier, optional, required } from '../body-reader.ts'
import { type ContractRoute, json, route } from '../contract-route.ts'
import { CODE_ERRORS, code, codeOf } from './second-factor-code.ts'
import { accountView, User } from './user-fields.ts'

const sessionFields = { token: Type.String({ description: 'valid for 24 hours' }), user: User }
const Session = Type.Object(sessionFields, { title: 'Session' })
const Login = Type.Union(
  [Type.Object(sessionFields), Type.Object({ requires2FA: Type.Literal(true), temporaryToken: text })],
  { title: 'Login' },
)

const signUp = route({
  method: 'POST',
  path: '/auth/signup',
  access: 'public',
  tag: 'Signing in',
  summary: 'Create an account',
  details: 'Only if the operator of the node has enabled sign-up.',
  body: json(Type.Object({ email: required, password: required, name: optional })),
  answers: { 201: Type.Object({ message: text, user: User }, { title: 'SignedUp' }) },
  errors: ['NOT_OFFERED', 'CONFLICT', 'RATE_LIMIT'],
  handler: async ({ request, body }, services) => {
    const account = await services.signUp.signUp(await body(), request.remoteAddress)
    const user = await accountView(services, account)
    return { status: 201, body: { message: 'account created, sign in now', user } }
  },
})

const login = route({
  method: 'POST',
  path: '/auth/login',
  access: 'public',
  tag: 'Signing in',
  summary: 'Sign in with email and password',
  details:
    'The token is a session: a credential with every scope for 24 hours. An account with a second factor gets a ' +
    'temporary token instead, for `/auth/2fa/verify-login`. After too many failures, an account is locked for 15 ' +
    'minutes, with the same answer as a wrong password, and an address gets 429.',
  body: json(Type.Object({ email: required, password: required })),
  answers: { 200: Login },
  errors: ['INVALID_API_KEY', 'account_disabled', 'RATE_LIMIT'],
  handler: async ({ request, body }, services) => {
    const outcome = await services.logins.login(await body(), request.remoteAddress)
    if ('temporaryToken' in outcome) {
      return { status: 200, body: { requires2FA: true, temporaryToken: outcome.temporaryToken } }
    }
    return { status: 200, body: { token: outcome.token, user: await accountView(services, outcome.account) } }
  },
})

const verifyLogin = route({
  method: 'POST',
  path: '/auth/2fa/verify-login',
  access: 'public',
  tag: 'Signing in',
  summary: 'Complete a sign-in with a second-factor code',
  details: 'The temporary token is valid once, for five minutes. The code may be a recovery code.',
  body: json(Type.Object({ temporaryToken: identifier, code })),
  answers: { 200: Session },
  errors: ['INVALID_API_KEY', 'account_disabled', ...CODE_ERRORS],
  handler: async ({ request, body }, services) => {
    const { temporaryToken, code } = await body()
    const input = { temporaryToken, code: codeOf(code) }
    const { token, account } = await services.logins.verifyLogin(input, request.remoteAddress)
    return { status: 200, body: { token, user: await accountView(services, account) } }
  },
})

const setPassword = route({
  method: 'POST',
  path: '/auth/password',
  access: 'public',
  tag: 'Signing in',
  summary: 'Set the password with a link',
  details:
    'The owner of the node makes the link. Its token works once, for a day. All sessions of the account end. Keys and ' +
    'a second factor stay.',
  body: json(Type.Object({ token: identifier, password: required })),
  answers: { 200: Type.Object({ message: text, email: text }, { title: 'PasswordSet' }) },
  errors: ['INVALID_API_KEY', 'RATE_LIMIT'],
  handler: async ({ request, body }, { passwordLinks, logins }) => {
    const { email } = await passwordLinks.use(await body(), request.remoteAddress)
    await logins.unlock(email)
    return { status: 200, body: { message: 'password set, sign in now', email } }
  },
})

const logout = route({
  method: 'POST',
  path: '/auth/logout',
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

export const authRoutes: readonly ContractRoute[] = [signUp, login, verifyLogin, setPassword, logout]
