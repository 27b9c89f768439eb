import { ABSENT, type Mistake } from './mistaken-commands.ts'

/** A request: method and path, then perhaps a JSON body. */
export type MistakenRequest = readonly [target: string, body?: unknown]

/** Wrong requests, as a program or the page of the console could send them. */
export const mistakenRequests: readonly Mistake<MistakenRequest>[] = [
  [['GET /api/v3/pins'], 'this path does not exist', 'GET /api/v3/openapi.json lists all paths'],
  [['GET /api/v2/users/me'], 'this API version was removed', 'use /api/v3'],
  [['PATCH /api/v3/files'], 'supports only', 'POST, OPTIONS'],
  [['POST /api/v3/files', {}], 'Content-Type', 'must be multipart/form-data'],
  [['POST /api/v3/files/pin/readme', {}], 'cid', 'such as bafy… or Qm…'],
  [[`POST /api/v3/files/pin/${ABSENT}`, { cl: 'nowhere' }], 'cl names a cluster', 'choose one of cl0-global'],
  [[`POST /api/v3/files/pin/${ABSENT}`, { timelock: 'soon' }], 'timelock', 'such as 2030-01-31T12:00:00Z'],
  [['GET /api/v3/users/me/uploads?limit=x'], 'limit', 'a positive integer'],
  [['GET /api/v3/users/me/uploads?sort=date'], 'sort', 'newest, oldest'],
  [['GET /api/v3/users/me/uploads?meta=x'], 'meta', 'not valid JSON'],
  [['PUT /api/v3/files/rename/none', {}], 'newName', 'is missing'],
  [['POST /api/v3/tokens/generate', {}], 'name', 'must be given'],
  [['POST /api/v3/tokens/generate', { name: 'a', scopes: ['all'] }], 'scopes', 'among files:read'],
  [['DELETE /api/v3/tokens/revoke/none'], 'API key', '"none"'],
  [['PUT /api/v3/users/me/password', {}], 'an API key cannot do this', 'sign in with POST /auth/login'],
  [['POST /api/v3/auth/signup', { email: 'a@b.org', password: 'a password' }], 'sign-up is off', 'ask the operator'],
  [['POST /api/v3/jobs', { action: 'rename' }], 'action', 'one of delete'],
  [['POST /api/v3/jobs', { action: 'delete', ids: [] }], 'ids', 'have 1 to 1000'],
  [['POST /admin/v1/takedowns', { cid: ABSENT }], 'reason', 'is missing'],
  [['GET /ipfs/readme'], '/ipfs/readme', 'such as bafy… or Qm…'],
]
