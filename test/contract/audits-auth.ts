import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import {
  type Actor,
  type Answer,
  type Audit,
  assertError,
  BASE,
  DAY_MS,
  expectStatus,
  json,
  type World,
} from './world.ts'

export const PASSWORD = 'a password to remember'

export function post(world: Pick<World, 'client'>, path: string, body: unknown, token?: string): Promise<Answer> {
  const { headers, ...rest } = json(body)
  const auth: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return world.client.request('POST', BASE + path, { ...rest, headers: { ...headers, ...auth } })
}

/** Returns an account that can sign in with a password. */
export async function person(world: World, plan?: string): Promise<Actor> {
  const account = await world.actor(plan)
  await world.setPassword(account, PASSWORD)
  return account
}

/** Returns the token of a new session. The account must have no second factor. */
export async function signIn(world: World, { email }: Actor): Promise<string> {
  return (await expectStatus(post(world, '/auth/login', { email, password: PASSWORD }), 200)).json.token
}

function ask(world: World, token: string, method = 'GET', path = '/users/me', body?: unknown): Promise<Answer> {
  const { headers, ...rest } = body === undefined ? { headers: {} } : json(body)
  return world.client.request(method, BASE + path, {
    ...rest,
    headers: { ...headers, authorization: `Bearer ${token}` },
  })
}

function tokenOf(header: object, claims: object, secret: string): string {
  const [head, payload] = [header, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
  const signature = secret === '' ? '' : createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url')
  return `${head}.${payload}.${signature}`
}

function partOf(token: string, index: number): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString())
}

/** Signing up, signing in and signing out. */
export const authAudits: readonly Audit[] = [
  {
    id: 'auth.signup',
    name: 'MUST create an account at sign-up, if enabled, on the configured plan',
    async run(world) {
      const email = 'new.person@example.org'
      const body = { name: 'New', email, password: PASSWORD, country: 'DE', role: 'owner', plan: 'unlimited' }
      const made = await expectStatus(post(world, '/auth/signup?locale=en', body), 201)
      assert.equal(typeof made.json.message, 'string')
      const { json: login } = await expectStatus(post(world, '/auth/login', { email, password: PASSWORD }), 200)
      assert.deepEqual([login.user.email, login.user.name, login.user.plan], [email, 'New', 'premium'])
      assert.equal(login.user.role, 'user')
      const again = { ...body, email: email.toUpperCase() }
      assertError(await post(world, '/auth/signup', again), 409, 'CONFLICT', 'email')
      const short = { email: 'other@example.org', password: '1234567' }
      assertError(await post(world, '/auth/signup', short), 400, 'VALIDATION', 'password')
      assertError(await post(world, '/auth/signup', { ...short, email: 'x' }), 400, 'VALIDATION', 'email')
    },
  },
  {
    id: 'auth.login',
    name: 'MUST answer a login with the user and a token of every scope',
    async run(world) {
      const account = await person(world)
      const credentials = { email: ` ${account.email.toUpperCase()} `, password: PASSWORD, rememberMe: true }
      const answer = await expectStatus(post(world, '/auth/login', credentials), 200)
      assert.deepEqual(Object.keys(answer.json).toSorted(), ['token', 'user'])
      const { token, user } = answer.json
      assert.deepEqual(user, (await account.request('GET', `${BASE}/users/me`)).json)
      assert.equal(token.split('.').length, 3)
      for (const headers of [{ authorization: `bearer ${token}` }, { 'x-api-key': token }]) {
        const me = await expectStatus(world.client.request('GET', `${BASE}/users/me`, { headers }), 200)
        assert.equal(me.json.id, account.id)
      }
      await expectStatus(ask(world, token, 'GET', '/users/me/uploads'), 200)
      await expectStatus(ask(world, token, 'GET', '/users/me/clusters'), 200)
      assertError(await ask(world, token, 'POST', '/files/pin/nonsense'), 400, 'INVALID_CID')
      assertError(await ask(world, token, 'DELETE', '/files/remove/nonsense'), 404, 'PIN_NOT_FOUND')
      const minted = await ask(world, token, 'POST', '/tokens/generate', { name: 'minted', permissions: ['admin'] })
      assert.equal(minted.status, 201)
      await expectStatus(ask(world, token, 'DELETE', '/tokens/revoke/main'), 200)
    },
  },
  {
    id: 'auth.wrong',
    name: 'MUST answer every failed login alike, whatever the reason',
    async run(world) {
      const account = await person(world)
      const keysOnly = await world.actor()
      const attempt = (email: string, password = 'not the password') => post(world, '/auth/login', { email, password })
      const wrong = await attempt(account.email)
      assertError(wrong, 401, 'INVALID_API_KEY')
      for (const other of [await attempt('nobody@example.org'), await attempt(keysOnly.email)]) {
        assert.deepEqual([other.status, other.json], [wrong.status, wrong.json])
      }
      for (let tries = 1; tries < 10; tries++) assert.equal((await attempt(account.email)).status, 401)
      const locked = await attempt(account.email, PASSWORD)
      assert.deepEqual([locked.status, locked.json], [wrong.status, wrong.json])
      await world.advance(15 * 60_000)
      await expectStatus(attempt(account.email, PASSWORD), 200)
    },
  },
  {
    id: 'auth.throttle',
    name: 'MUST answer 429 with Retry-After after many failed sign-ins, then recover',
    async run(world) {
      const account = await person(world)
      const session = await signIn(world, account)
      const attempt = () => post(world, '/auth/2fa/verify-login', { temporaryToken: 'guess', code: '123456' })
      let answer = await attempt()
      for (let tries = 0; tries < 100 && answer.status === 401; tries++) answer = await attempt()
      const body = assertError(answer, 429, 'RATE_LIMIT')
      assert.equal(answer.header('retry-after'), String(body.retryAfter))
      const { email } = account
      assertError(await post(world, '/auth/login', { email, password: PASSWORD }), 429, 'RATE_LIMIT')
      await expectStatus(ask(world, session), 200)
      await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
      await world.advance(Number(body.retryAfter) * 1_000)
      await signIn(world, account)
    },
  },
  {
    id: 'auth.input',
    name: 'MUST refuse a malformed login with 400 and name the field',
    async run(world) {
      const cases: [path: string, body: unknown, field: string][] = [
        ['/auth/login', {}, 'email'],
        ['/auth/login', { email: 'a@b' }, 'password'],
        ['/auth/login', { email: 5, password: 'x' }, 'email'],
        ['/auth/login', { email: 'a@b', password: ['x'] }, 'password'],
        ['/auth/signup', { email: 'a@b' }, 'password'],
        ['/auth/2fa/verify-login', { code: '123456' }, 'temporaryToken'],
      ]
      for (const [path, body, field] of cases) assertError(await post(world, path, body), 400, 'VALIDATION', field)
      assertError(await world.client.request('POST', `${BASE}/auth/login`), 400, 'VALIDATION', 'email')
    },
  },
  {
    id: 'auth.logout',
    name: 'MUST end the session that logs out, and no other credential',
    async run(world) {
      const account = await person(world)
      const [one, two] = [await signIn(world, account), await signIn(world, account)]
      const headers = { authorization: `Bearer ${one}`, 'content-length': '0' }
      const out = await expectStatus(world.client.request('POST', `${BASE}/auth/logout`, { headers }), 200)
      assert.equal(typeof out.json.message, 'string')
      assertError(await ask(world, one), 401, 'INVALID_API_KEY')
      assertError(await ask(world, one, 'POST', '/auth/logout'), 401, 'INVALID_API_KEY')
      await expectStatus(ask(world, two), 200)
      await expectStatus(account.request('POST', `${BASE}/auth/logout`), 200)
      await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
    },
  },
  {
    id: 'auth.forged',
    name: 'MUST answer 401 INVALID_API_KEY to forged, altered and expired tokens',
    async run(world) {
      const account = await person(world)
      const token = await signIn(world, account)
      const [header, claims] = [partOf(token, 0), partOf(token, 1)]
      const [head, payload, signature] = token.split('.')
      const other = await world.actor()
      const altered = Buffer.from(JSON.stringify({ ...claims, sub: other.id })).toString('base64url')
      const forged = [
        tokenOf({ ...header, alg: 'none' }, claims, ''),
        tokenOf({ alg: 'none', typ: 'JWT' }, claims, ''),
        tokenOf(header, claims, 'a guess'),
        tokenOf({ ...header, kid: 'other' }, claims, 'a guess'),
        tokenOf({ alg: 'HS512', typ: 'JWT', kid: header.kid }, claims, 'a guess'),
        `${head}.${altered}.${signature}`,
        `${head}.${payload}.`,
        `${head}.${payload}`,
        `${token}.${token}`,
        token.slice(0, -2),
      ]
      for (const bad of forged) assertError(await ask(world, bad), 401, 'INVALID_API_KEY')
      await expectStatus(ask(world, token), 200)
      await world.advance(DAY_MS - 1_000)
      await expectStatus(ask(world, token), 200)
      await world.advance(1_000)
      assertError(await ask(world, token), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'auth.disabled',
    name: 'MUST answer 403 account_disabled to a disabled account with valid credentials',
    async run(world) {
      const account = await person(world)
      const token = await signIn(world, account)
      await world.disable(account)
      assertError(await ask(world, token), 403, 'account_disabled')
      const { email } = account
      assertError(await post(world, '/auth/login', { email, password: PASSWORD }), 403, 'account_disabled')
      assertError(await post(world, '/auth/login', { email, password: 'wrong' }), 401, 'INVALID_API_KEY')
    },
  },
  {
    id: 'auth.password',
    name: 'MUST change the password in a session, and end all other sessions',
    async run(world) {
      const account = await person(world)
      const [own, other] = [await signIn(world, account), await signIn(world, account)]
      const change = (body: object) => ask(world, own, 'PUT', '/users/me/password', body)
      const newPassword = 'another one to remember'
      const body = { currentPassword: PASSWORD, newPassword }
      const byKey = await account.request('PUT', `${BASE}/users/me/password`, json(body))
      assertError(byKey, 403, 'SESSION_REQUIRED')
      assertError(await change({ ...body, currentPassword: 'x' }), 400, 'VALIDATION', 'currentPassword')
      assertError(await change({ ...body, newPassword: 'short' }), 400, 'VALIDATION', 'newPassword')
      await expectStatus(ask(world, other), 200)
      await expectStatus(change(body), 200)
      await expectStatus(ask(world, own), 200)
      assertError(await ask(world, other), 401, 'INVALID_API_KEY')
      await expectStatus(account.request('GET', `${BASE}/users/me`), 200)
      const { email } = account
      assertError(await post(world, '/auth/login', { email, password: PASSWORD }), 401, 'INVALID_API_KEY')
      await expectStatus(post(world, '/auth/login', { email, password: newPassword }), 200)
    },
  },
  {
    id: 'auth.sessions',
    name: "MUST list an account's sessions to a session, and end them",
    async run(world) {
      const account = await person(world)
      const tokens = [await signIn(world, account), await signIn(world, account), await signIn(world, account)]
      const [first = '', second = '', third = ''] = tokens
      const stranger = await signIn(world, await person(world))
      const list = async (query = '') =>
        (await expectStatus(ask(world, first, 'GET', `/auth/sessions${query}`), 200)).json
      const { sessions, next } = await list()
      assert.deepEqual([sessions.length, next], [3, null])
      assert.deepEqual(Object.keys(sessions[0]).toSorted(), ['createdAt', 'current', 'expiresAt', 'id'])
      const ids = tokens.map(token => String(partOf(token, 1).jti))
      const current = sessions.find((session: { current: boolean }) => session.current)
      assert.equal(current.id, ids[0])
      const page = await list('?limit=2')
      const rest = await list(`?limit=2&after=${encodeURIComponent(page.next)}`)
      assert.deepEqual([...page.sessions, ...rest.sessions], sessions)
      assertError(await ask(world, first, 'GET', '/auth/sessions?limit=0'), 400, 'VALIDATION', 'limit')
      assertError(await account.request('GET', `${BASE}/auth/sessions`), 403, 'SESSION_REQUIRED')
      assertError(await ask(world, stranger, 'DELETE', `/auth/sessions/${ids[1]}`), 404, 'NOT_FOUND')
      await expectStatus(ask(world, second), 200)
      const one = await expectStatus(ask(world, first, 'DELETE', `/auth/sessions/${ids[1]}`), 200)
      assert.deepEqual(one.json, { ended: 1 })
      assertError(await ask(world, second), 401, 'INVALID_API_KEY')
      assertError(await ask(world, first, 'DELETE', `/auth/sessions/${ids[1]}`), 404, 'NOT_FOUND')
      const others = await expectStatus(ask(world, first, 'DELETE', '/auth/sessions'), 200)
      assert.deepEqual(others.json, { ended: 1 })
      assertError(await ask(world, third), 401, 'INVALID_API_KEY')
      for (const token of [first, stranger]) await expectStatus(ask(world, token), 200)
    },
  },
  {
    id: 'auth.profile',
    name: 'MUST change the name by key, the email only in a session',
    async run(world) {
      const account = await person(world)
      const token = await signIn(world, account)
      const byKey = (body: object) => account.request('PUT', `${BASE}/users/me`, json(body))
      const renamed = await expectStatus(byKey({ name: 'Ada', lastname: 'L', plan: 'unlimited', id: 'x' }), 200)
      assert.deepEqual([renamed.json.name, renamed.json.id, typeof renamed.json.message], ['Ada', account.id, 'string'])
      await expectStatus(account.request('PUT', `${BASE}/users/me`), 200)
      assertError(await byKey({ email: 'moved@example.org' }), 403, 'SESSION_REQUIRED')
      const lesser = { 'x-api-key': await account.key({ name: 'lesser', scopes: ['files:read'] }) }
      const refused = await world.client.request('PUT', `${BASE}/users/me`, { headers: lesser })
      assertError(refused, 403, 'missing_scope')
      const update = (body: object) => ask(world, token, 'PUT', '/users/me', body)
      const taken = await world.actor()
      assertError(await update({ email: taken.email }), 409, 'CONFLICT', 'email')
      assertError(await update({ email: 'owner@localhost' }), 409, 'CONFLICT', 'email')
      assertError(await update({ email: 'nonsense' }), 400, 'VALIDATION', 'email')
      assertError(await update({ name: 'a\nb' }), 400, 'VALIDATION', 'name')
      const email = `moved-${account.email}`
      const moved = await expectStatus(update({ email, name: '' }), 200)
      assert.deepEqual([moved.json.email, moved.json.name], [email, email])
      await expectStatus(post(world, '/auth/login', { email, password: PASSWORD }), 200)
    },
  },
]
