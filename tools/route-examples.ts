// One example for each route, in the order of their execution. `tools/route-page.ts` runs them against an engine.
import { join } from 'node:path'
import { codeAt } from './totp.ts'

/** Values from earlier answers by name, such as ids, tokens and secrets. */
export type Known = Record<string, string>

export interface Example {
  /** Method and path as in the table of routes, including the base. */
  route: string
  /** The requested path if it differs: with parameters and a query. */
  path?: (known: Known) => string
  /** Owner of the credential. Default: the API key of an account. */
  as?: 'nobody' | 'session' | 'owner'
  json?: (known: Known) => object
  form?: Record<string, string>
  car?: true
  /** Prepares the next example and is not shown. */
  isHidden?: true
  /** Fields of the answer to save for later examples, by name. */
  keep?: Record<string, string>
}

export const CID = 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm'
const SITE = 'bafybeihpoxgcdjuc5vru4mgbejjjtjnkyaag7orx7n64hfyzxlk2cgnj6q'
const PASSWORD = 'correct horse battery'
const NEW_PASSWORD = `${PASSWORD} staple`
const api = (route: string, more: Omit<Example, 'route'> = {}): Example => ({
  route: route.replace(' ', ' /api/v3'),
  ...more,
})
const admin = (route: string, more: Omit<Example, 'route'> = {}): Example => ({
  route: route.replace(' ', ' /admin/v1'),
  as: 'owner',
  ...more,
})
// feature: psa
const psa = (route: string, more: Omit<Example, 'route'> = {}): Example => ({
  route: route.replace(' ', ' /psa'),
  ...more,
})
// end

const LOGIN: Example = {
  route: 'POST /api/v3/auth/login',
  as: 'nobody',
  json: () => ({ email: 'grace@example.org', password: NEW_PASSWORD }),
  isHidden: true,
}
const KEY: Example = { route: 'POST /api/v3/tokens/generate', json: () => ({ name: 'ci' }), isHidden: true }

export const EXAMPLES: readonly Example[] = [
  api('POST /files', { form: { file: 'Hello from Holdfast!', cl: 'cl0-global' }, keep: { uploadId: 'uploadId' } }),
  api('POST /files/directory-dag', { form: { files: '<h1>My site</h1>', dirName: 'site' }, keep: { site: 'cid' } }),
  api('POST /files/directory', { as: 'owner', json: () => ({ dirPath: 'photos' }) }),
  api('POST /files/car', { car: true }),
  api('POST /files/url', { json: () => ({ url: 'http://169.254.169.254/latest/meta-data' }) }),
  api('POST /files/pin/*cid', { path: () => `/api/v3/files/pin/${CID}`, json: () => ({ customName: 'greeting' }) }),
  api('PUT /files/rename/:uploadId', {
    path: known => `/api/v3/files/rename/${known.uploadId}`,
    json: () => ({ newName: 'hello-again.txt' }),
  }),
  api('PUT /files/visibility/:uploadId', {
    path: known => `/api/v3/files/visibility/${known.uploadId}`,
    json: () => ({ visibility: 'private' }),
  }),
  api('GET /users/me/uploads', { path: () => '/api/v3/users/me/uploads?limit=1' }),
  // feature: bulk
  api('POST /jobs', { json: known => ({ action: 'delete', ids: [known.uploadId] }), keep: { job: 'job.id' } }),
  api('GET /jobs'),
  api('GET /jobs/:id', { path: known => `/api/v3/jobs/${known.job}` }),
  api('POST /jobs/:id/undo', { path: known => `/api/v3/jobs/${known.job}/undo` }),
  api('POST /jobs/edits', {
    json: known => ({ action: 'rename', ids: [known.uploadId], rename: { prefix: 'old ' } }),
  }),
  // end
  api('GET /users/me/uploads/dag/:cid', { path: known => `/api/v3/users/me/uploads/dag/${known.site}` }),
  api('GET /users/me/clusters'),
  api('GET /status/:cid', { path: () => `/api/v3/status/${CID}` }),
  api('GET /allocations/:cid', { path: () => `/api/v3/allocations/${CID}` }),
  api('DELETE /files/remove/*cid', { path: () => `/api/v3/files/remove/${CID}` }),
  api('GET /users/me'),
  api('PUT /users/me', { json: () => ({ name: 'Ada' }) }),
  api('GET /plans', { as: 'nobody' }),
  api('GET /plans/my-plan'),
  api('GET /users/me/plans'),
  api('PUT /plans/change', { json: () => ({ planId: 'premium' }) }),
  api('GET /users/me/preferences'),
  api('PUT /users/me/preferences', { json: () => ({}) }),
  api('GET /users/me/referrals'),
  api('GET /locales/languages', { as: 'nobody' }),
  api('GET /locales/countries', { as: 'nobody' }),
  api('POST /auth/signup', {
    as: 'nobody',
    json: () => ({ email: 'grace@example.org', password: PASSWORD, name: 'Grace' }),
  }),
  api('POST /auth/login', {
    as: 'nobody',
    json: () => ({ email: 'grace@example.org', password: PASSWORD }),
    keep: { session: 'token' },
  }),
  api('PUT /users/me/password', {
    as: 'session',
    json: () => ({ currentPassword: PASSWORD, newPassword: NEW_PASSWORD }),
  }),
  LOGIN,
  {
    ...LOGIN,
    json: () => ({ email: 'grace@example.org', password: NEW_PASSWORD, keep: true }),
    keep: { session: 'token' },
  },
  api('POST /auth/proof', { as: 'session', json: () => ({ password: NEW_PASSWORD }) }),
  api('GET /auth/sessions', { as: 'session', keep: { sessionId: 'sessions.1.id' } }),
  api('DELETE /auth/sessions/:id', { as: 'session', path: known => `/api/v3/auth/sessions/${known.sessionId}` }),
  api('DELETE /auth/sessions', { as: 'session' }),
  api('POST /auth/2fa/setup', { as: 'session', json: () => ({}), keep: { secret: 'secret' } }),
  api('POST /auth/2fa/enable', {
    as: 'session',
    json: known => ({ code: codeAt(known) }),
    keep: { first: 'recoveryCodes.0', second: 'recoveryCodes.1' },
  }),
  { ...LOGIN, keep: { temporaryToken: 'temporaryToken' } },
  api('POST /auth/2fa/verify-login', {
    as: 'nobody',
    json: known => ({ temporaryToken: known.temporaryToken, code: known.first }),
  }),
  api('POST /auth/provider/start', { as: 'nobody' }),
  api('POST /auth/provider/finish', { as: 'nobody', json: () => ({ secret: '…', answer: '?code=…&state=…' }) }),
  api('POST /auth/2fa/disable', { as: 'session', json: known => ({ code: known.second }) }),
  api('POST /auth/logout', { as: 'session', json: () => ({}) }),
  api('POST /tokens/generate', { json: () => ({ name: 'ci', scopes: ['files:write', 'cluster:read'] }) }),
  api('GET /tokens/list'),
  api('DELETE /tokens/revoke/:name', { path: () => '/api/v3/tokens/revoke/ci' }),
  KEY,
  api('POST /tokens/revoke', { json: () => ({ name: 'ci' }) }),
  api('POST /tokens/console'),
  api('DELETE /tokens/console'),
  // feature: webhooks
  api('POST /webhooks', { json: () => ({ url: 'https://app.example.org/pins' }), keep: { webhook: 'id' } }),
  api('GET /webhooks'),
  api('GET /webhooks/:id/deliveries', { path: known => `/api/v3/webhooks/${known.webhook}/deliveries` }),
  api('DELETE /webhooks/:id', { path: known => `/api/v3/webhooks/${known.webhook}` }),
  // end
  { route: 'GET /api/v3', as: 'nobody' },
  api('GET /health', { as: 'nobody' }),
  api('GET /ready', { as: 'nobody' }),
  api('GET /peers', { as: 'nobody' }),
  api('GET /openapi.json', { as: 'nobody' }),
  api('GET /docs', { as: 'nobody' }),
  // feature: psa
  psa('POST /pins', { json: () => ({ cid: SITE, name: 'site' }), keep: { requestid: 'requestid' } }),
  psa('GET /pins'),
  psa('GET /pins/:requestid', { path: known => `/psa/pins/${known.requestid}` }),
  psa('POST /pins/:requestid', {
    path: known => `/psa/pins/${known.requestid}`,
    json: () => ({ cid: CID }),
    keep: { requestid: 'requestid' },
  }),
  psa('DELETE /pins/:requestid', { path: known => `/psa/pins/${known.requestid}` }),
  psa('GET /openapi.json', { as: 'nobody' }),
  // end
  admin('GET /stats'),
  admin('POST /gc', { json: () => ({ graceSeconds: 0 }) }),
  admin('POST /verify', { json: () => ({}) }),
  admin('POST /reconcile', { json: () => ({ dryRun: true }) }),
  admin('POST /backup', { json: known => ({ directory: join(known.backups ?? '', 'monday') }) }),
  admin('GET /history'),
  admin('GET /failures'),
  admin('GET /peers'),
  admin('GET /accounts'),
  admin('POST /accounts', {
    json: () => ({ email: 'alan@example.org', plan: 'free' }),
    keep: { account: 'id' },
  }),
  admin('PUT /accounts/:id/plan', {
    path: known => `/admin/v1/accounts/${known.account}/plan`,
    json: () => ({ plan: 'premium' }),
  }),
  admin('POST /accounts/:id/disable', {
    path: known => `/admin/v1/accounts/${known.account}/disable`,
    json: () => ({}),
  }),
  admin('POST /accounts/:id/enable', { path: known => `/admin/v1/accounts/${known.account}/enable`, json: () => ({}) }),
  admin('GET /accounts/:id/uploads', { path: known => `/admin/v1/accounts/${known.account}/uploads?limit=1` }),
  admin('GET /accounts/:id/sessions', { path: known => `/admin/v1/accounts/${known.account}/sessions` }),
  admin('DELETE /accounts/:id/sessions', { path: known => `/admin/v1/accounts/${known.account}/sessions` }),
  admin('POST /accounts/:id/password-link', {
    path: known => `/admin/v1/accounts/${known.account}/password-link`,
    json: () => ({}),
    keep: { link: 'token' },
  }),
  api('POST /auth/password', {
    as: 'nobody',
    json: known => ({ token: known.link, password: NEW_PASSWORD }),
  }),
  admin('DELETE /accounts/:id', { path: known => `/admin/v1/accounts/${known.account}` }),
  admin('POST /takedowns', { json: () => ({ cid: CID, reason: 'complaint 17', status: 451 }) }),
  admin('GET /takedowns'),
  admin('DELETE /takedowns/:cid', { path: () => `/admin/v1/takedowns/${CID}` }),
  admin('GET /jobs'), // feature: bulk
  admin('GET /backups'),
  // feature: webhooks
  admin('GET /deliveries'),
  admin('POST /deliveries/:id/resend', { path: () => '/admin/v1/deliveries/1/resend', json: () => ({}) }),
  // feature: audit
  admin('POST /visibility'),
  admin('GET /nodes'),
  admin('POST /nodes/:id/retire', { path: () => '/admin/v1/nodes/c/retire', json: () => ({ to: 'b' }) }),
  admin('POST /nodes/away', { json: () => ({ nodes: ['b', 'c'] }) }),
  admin('POST /nodes/:id/forget', { path: () => '/admin/v1/nodes/c/forget', json: () => ({}) }),
  admin('GET /lost'),
  admin('GET /audit', { path: () => '/admin/v1/audit?limit=1' }),
  // end
  { route: 'GET /health', as: 'nobody' },
  { route: 'GET /ready', as: 'nobody' },
]
