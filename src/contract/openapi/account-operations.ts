import { Type } from 'typebox'
import { readCodeBody, readKeyBody, readRevokeBody } from '../auth-schemas.ts'
import { CODE, type Operations } from './operation.ts'

const positive = Type.Integer({ minimum: 1 })
const keyName = { name: 'The name of the key, percent-encoded.' }

/** The account, what it has, and its keys. */
export const accountOperations: Operations = {
  'GET /users/me/uploads': {
    tag: 'Lists',
    summary: 'List uploads',
    details: 'Newest first. With `parentCid` the files below a directory of the account are listed instead of records.',
    query: {
      page: { description: 'From 1.', schema: positive },
      limit: { description: 'By default, and at most, what the plan says.', schema: positive },
      cid: { description: 'Only records of this content.', schema: Type.String() },
      parentCid: { description: 'The files below this directory, recursively.', schema: Type.String() },
      hasExpiration: { description: '`true`: only records that will expire.', schema: Type.Boolean() },
    },
    answers: { 200: 'UploadList' },
    errors: ['VALIDATION'],
  },
  'GET /users/me/uploads/dag/:cid': {
    tag: 'Lists',
    summary: 'The files of an uploaded directory',
    path: { cid: 'Its root CID.' },
    answers: { 200: 'Dag' },
    errors: ['PIN_NOT_FOUND', 'VALIDATION'],
  },
  'GET /users/me/clusters': {
    tag: 'Lists',
    summary: 'The clusters that the plan allows, with their gateways',
    answers: { 200: 'Clusters' },
  },

  'GET /users/me': { tag: 'Account', summary: 'Who is asking: plan and usage', answers: { 200: 'User' } },
  'GET /users/me/plans': { tag: 'Account', summary: 'The plan of the account, as a list', answers: { 200: 'Plans' } },
  'GET /plans/my-plan': {
    tag: 'Account',
    summary: 'The plan of the account and its usage',
    answers: { 200: 'OwnPlan' },
  },
  'PUT /plans/change': {
    tag: 'Account',
    summary: 'Refused: the operator of the node gives plans',
    answers: {},
    errors: ['NOT_OFFERED'],
  },
  'GET /users/me/preferences': {
    tag: 'Account',
    summary: 'Always empty: the node keeps no preferences',
    answers: { 200: 'Preferences' },
  },
  'PUT /users/me/preferences': {
    tag: 'Account',
    summary: 'Refused: the node keeps no preferences',
    answers: {},
    errors: ['NOT_OFFERED'],
  },
  'GET /users/me/referrals': {
    tag: 'Account',
    summary: 'Always empty: the node has no referrals',
    answers: { 200: 'Referrals' },
  },

  'POST /tokens/generate': {
    tag: 'API keys',
    summary: 'Make an API key',
    details:
      'The only answer that holds the secret. A key can give a new one only scopes that it has itself, and no later expiry; when it is revoked, so is what it has made. An account with a second factor sends a code of it.',
    body: { type: 'application/json', schema: readKeyBody.schema },
    answers: { 201: 'NewKey' },
    errors: [
      ...(['VALIDATION', 'CONFLICT', 'missing_scope', 'QUOTA_EXCEEDED'] as const),
      ...CODE,
      ...(['UNSUPPORTED_MEDIA_TYPE', 'REQUEST_TOO_LARGE'] as const),
    ],
  },
  'GET /tokens/list': {
    tag: 'API keys',
    summary: 'List API keys, without their secrets',
    details: 'Oldest first, the expired included, 1,000 at most.',
    answers: { 200: 'Keys' },
  },
  'DELETE /tokens/revoke/:name': {
    tag: 'API keys',
    summary: 'Revoke an API key',
    path: keyName,
    body: { type: 'application/json', schema: readCodeBody.schema },
    bodyRequired: false,
    answers: { 200: 'Revoked' },
    errors: ['NOT_FOUND', 'missing_scope', 'VALIDATION', ...CODE, 'UNSUPPORTED_MEDIA_TYPE', 'REQUEST_TOO_LARGE'],
  },
  'POST /tokens/revoke': {
    tag: 'API keys',
    summary: 'Revoke an API key, named in the body',
    body: { type: 'application/json', schema: readRevokeBody.schema },
    answers: { 200: 'Revoked' },
    errors: ['NOT_FOUND', 'missing_scope', 'VALIDATION', ...CODE, 'UNSUPPORTED_MEDIA_TYPE', 'REQUEST_TOO_LARGE'],
  },
}
