import { Type } from 'typebox'
import {
  readDisableBody,
  readEnableBody,
  readLoginBody,
  readPasswordBody,
  readProfileBody,
  readSignUpBody,
  readVerifyLoginBody,
} from '../auth-schemas.ts'
import type { BodyReader } from '../schemas.ts'
import { CODE, type Operation, type Operations } from './operation.ts'

const BODY = ['VALIDATION', 'UNSUPPORTED_MEDIA_TYPE', 'REQUEST_TOO_LARGE'] as const

function json({ schema }: BodyReader<unknown>): NonNullable<Operation['body']> {
  return { type: 'application/json', schema }
}

/** Signing up, in and out, and what the holder of an account changes of it. */
export const authOperations: Operations = {
  'POST /auth/signup': {
    tag: 'Signing in',
    summary: 'Make an account',
    details: 'Only where the operator of the node has turned it on.',
    body: json(readSignUpBody),
    answers: { 201: 'SignedUp' },
    errors: [...BODY, 'NOT_OFFERED', 'CONFLICT', 'RATE_LIMIT'],
  },
  'POST /auth/login': {
    tag: 'Signing in',
    summary: 'Sign in with email and password',
    details:
      'The token is a session: a credential with every scope for 24 hours. An account with a second factor gets a ' +
      'temporary token instead, for `/auth/2fa/verify-login`. After too many failures an account is locked for 15 ' +
      'minutes, which looks no different from a wrong password, and an address is refused with 429.',
    body: json(readLoginBody),
    answers: { 200: 'Login' },
    errors: [...BODY, 'INVALID_API_KEY', 'account_disabled', 'RATE_LIMIT'],
  },
  'POST /auth/2fa/verify-login': {
    tag: 'Signing in',
    summary: 'Sign in: the code of the second factor',
    details: 'The temporary token is good once and for five minutes. The code may be a recovery code.',
    body: json(readVerifyLoginBody),
    answers: { 200: 'Session' },
    errors: [...BODY, 'INVALID_API_KEY', 'account_disabled', ...CODE],
  },
  'POST /auth/logout': {
    tag: 'Signing in',
    summary: 'End the session',
    details: 'An API key is not affected.',
    answers: { 200: 'Message' },
  },
  'GET /auth/sessions': {
    tag: 'Signing in',
    summary: 'Where the account is signed in, oldest first',
    query: {
      limit: { description: '100 unless given, at most 1,000.', schema: Type.Integer({ minimum: 1 }) },
      after: { description: 'The `next` of the page before.', schema: Type.String() },
    },
    answers: { 200: 'Sessions' },
    errors: ['VALIDATION'],
  },
  'DELETE /auth/sessions': {
    tag: 'Signing in',
    summary: 'End all sessions of the account but this one',
    answers: { 200: 'SessionsEnded' },
  },
  'DELETE /auth/sessions/:id': {
    tag: 'Signing in',
    summary: 'End a session of the account',
    path: { id: 'Its id, as listed.' },
    answers: { 200: 'SessionsEnded' },
    errors: ['NOT_FOUND', 'VALIDATION'],
  },
  'POST /auth/2fa/setup': {
    tag: 'Signing in',
    summary: 'Set up a second factor: a secret for an authenticator app',
    details: 'It counts once `/auth/2fa/enable` has seen a code of it.',
    answers: { 200: 'SecondFactorSetup' },
    errors: ['CONFLICT'],
  },
  'POST /auth/2fa/enable': {
    tag: 'Signing in',
    summary: 'Turn the second factor on',
    body: json(readEnableBody),
    answers: { 200: 'SecondFactorEnabled' },
    errors: [...BODY, 'CONFLICT', ...CODE],
  },
  'POST /auth/2fa/disable': {
    tag: 'Signing in',
    summary: 'Turn the second factor off',
    details: 'On the word of a code, of a recovery code, or of the password.',
    body: json(readDisableBody),
    answers: { 200: 'SecondFactorDisabled' },
    errors: [...BODY, 'CONFLICT', ...CODE],
  },

  'PUT /users/me': {
    tag: 'Account',
    summary: 'Change name or email',
    details: 'A key needs every scope for it; the email can be changed by a session only. An empty name is none.',
    body: json(readProfileBody),
    bodyRequired: false,
    answers: { 200: 'UpdatedUser' },
    errors: [...BODY, 'CONFLICT', 'missing_scope', 'SESSION_REQUIRED'],
  },
  'PUT /users/me/password': {
    tag: 'Account',
    summary: 'Change the password, and end all other sessions',
    body: json(readPasswordBody),
    answers: { 200: 'Message' },
    errors: BODY,
  },
}
