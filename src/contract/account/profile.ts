import { Type } from 'typebox'
import { CONTRACT_SCOPES } from '../../access/principal.ts'
import { checkedVisibility } from '../../domain/visibility.ts'
import { text } from '../answer-fields.ts'
import { optional, required } from '../body-reader.ts'
import { type ContractRoute, json, optionalJson, route } from '../contract-route.ts'
import { accountView, User, userFields } from './user-fields.ts'

const UpdatedUser = Type.Object({ message: text, ...userFields }, { title: 'UpdatedUser' })

/** Any valid credential may call this route, so clients can test a credential. */
const show = route({
  method: 'GET',
  path: '/users/me',
  access: 'authenticated',
  tag: 'Account',
  summary: 'Show the account, with its plan and usage',
  answers: { 200: User },
  handler: async ({ principal }, services) => ({ status: 200, body: await accountView(services, principal.account) }),
})

const update = route({
  method: 'PUT',
  path: '/users/me',
  audit: 'profile.change',
  access: 'authenticated',
  tag: 'Account',
  summary: 'Change name, email or default visibility',
  details:
    'A key needs the four scopes `files:*` and `cluster:read`, and `share:write` for the default visibility `public`. Only a ' +
    'session can change the email, and a kept one needs a proof. An empty name removes it.',
  body: optionalJson(Type.Object({ email: optional, name: optional, defaultVisibility: optional })),
  answers: { 200: UpdatedUser },
  errors: ['CONFLICT', 'missing_scope', 'SESSION_REQUIRED', 'proof_required'],
  handler: async ({ body, principal }, services) => {
    services.scopes.check(principal, ...CONTRACT_SCOPES)
    const { email, name, defaultVisibility } = await body()
    // An API key must not change the email, which is the name for sign-in.
    if (email !== undefined) {
      services.scopes.checkSession(principal)
      await services.proofs.check(principal)
    }
    const { id } = principal.account
    const visibility =
      defaultVisibility === undefined ? undefined : checkedVisibility(defaultVisibility, 'defaultVisibility')
    // Others may upload with this account, and rely on its default.
    if (visibility === 'public') services.scopes.check(principal, 'share:write')
    let account = await services.accounts.setProfile(id, { email, name })
    if (visibility !== undefined) account = await services.accounts.setDefaultVisibility(id, visibility)
    return { status: 200, body: { message: 'profile updated', ...(await accountView(services, account)) } }
  },
})

const changePassword = route({
  method: 'PUT',
  path: '/users/me/password',
  audit: 'password.change',
  access: 'session',
  tag: 'Account',
  summary: 'Change the password and end all other sessions',
  body: json(Type.Object({ currentPassword: required, newPassword: required })),
  answers: { 200: Type.Object({ message: text }, { title: 'Message' }) },
  handler: async ({ body, principal }, { passwords }) => {
    await passwords.change(principal, await body())
    return { status: 200, body: { message: 'password changed, other sessions have ended' } }
  },
})

export const profileRoutes: readonly ContractRoute[] = [show, update, changePassword]
