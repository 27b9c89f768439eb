import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codeAt } from '../contract/audits-second-factor.ts'
import { caller, curl, go, php, python } from './dialects.ts'
import { SdkError, sdk } from './sdk.ts'
import { type Customer, openService, type Service } from './service.ts'

const PASSWORD = 'correct horse battery'
const CODE_STEP_MS = 30_000

let service: Service
let open: ReturnType<typeof sdk>

beforeAll(async () => {
  service = await openService()
  open = sdk(service.base, null)
})
afterAll(() => service.close())

async function person(): Promise<Customer> {
  const customer = await service.customer()
  await service.engine.accounts.setPassword(customer.id, PASSWORD)
  return customer
}

/** Enables the second factor. Returns a function that gives an unused code. */
async function protect(token: string): Promise<() => string> {
  const session = sdk(service.base, token)
  const { secret } = await session('POST', '/auth/2fa/setup')
  const next = (): string => {
    service.clock.advance(CODE_STEP_MS)
    return codeAt(secret, service.clock.now())
  }
  await session('POST', '/auth/2fa/enable', { json: { code: next() } })
  return next
}

async function statusOf(promise: Promise<unknown>): Promise<[number, unknown]> {
  const error = await promise.then(
    () => undefined,
    thrown => thrown,
  )
  if (!(error instanceof SdkError)) throw new Error('that should have been refused')
  return [error.status, error.code]
}

describe('sessions of the TypeScript and JavaScript clients', () => {
  test('login, the session as Bearer, and logout without a body', async () => {
    const { email } = await person()
    const { token, user } = await open('POST', '/auth/login', { json: { email, password: PASSWORD } })
    expect(user).toMatchObject({ email, plan: 'unlimited' })
    const session = sdk(service.base, token)
    expect((await session('GET', '/users/me', { web: true })).email).toBe(email)
    expect(await session('GET', '/users/me/uploads?page=1&limit=10', { web: true })).toMatchObject({ total: 0 })
    expect(await session('POST', '/auth/logout', { web: true })).toMatchObject({ message: expect.any(String) })
    expect(await statusOf(session('GET', '/users/me', { web: true }))).toEqual([401, 'INVALID_API_KEY'])
  })

  test('a wrong password is a 401, and sign-up is off', async () => {
    const { email } = await person()
    expect(await statusOf(open('POST', '/auth/login', { json: { email, password: 'wrong' } }))).toEqual([
      401,
      'INVALID_API_KEY',
    ])
    const json = { name: 'N', email: 'new@example.org', password: PASSWORD, country: 'ES' }
    expect(await statusOf(open('POST', '/auth/signup?locale=es&refCode=x', { json }))).toEqual([403, 'NOT_OFFERED'])
  })

  test('a new password ends the other sessions', async () => {
    const { email } = await person()
    const login = async (password: string): Promise<ReturnType<typeof sdk>> =>
      sdk(service.base, (await open('POST', '/auth/login', { json: { email, password } })).token)
    const [mine, other] = [await login(PASSWORD), await login(PASSWORD)]
    const updated = await mine('PUT', '/users/me', { json: { name: 'Ada', unknown: true } })
    expect(updated).toMatchObject({ message: expect.any(String) })
    expect((await mine('GET', '/users/me')).name).toBe('Ada')
    const newPassword = 'another one to remember'
    await mine('PUT', '/users/me/password', { json: { currentPassword: PASSWORD, newPassword } })
    expect((await mine('GET', '/users/me')).email).toBe(email)
    expect((await statusOf(other('GET', '/users/me')))[0]).toBe(401)
    await login(newPassword)
  })

  test('keys require a code under both names, on DELETE too', async () => {
    const { email } = await person()
    const { token } = await open('POST', '/auth/login', { json: { email, password: PASSWORD } })
    const next = await protect(token)
    const session = sdk(service.base, token)
    const json = { name: 'guarded', scopes: ['files:read'] }
    expect(await statusOf(session('POST', '/tokens/generate', { json }))).toEqual([400, '2fa_required'])
    const wrong = { ...json, totpCode: '000000' }
    expect(await statusOf(session('POST', '/tokens/generate', { json: wrong }))).toEqual([400, '2fa_invalid'])
    await session('POST', '/tokens/generate', { json: { ...json, totpCode: next() } })
    await session('POST', '/tokens/generate', { json: { ...json, name: 'second', twoFactorCode: next() } })
    expect(await statusOf(session('DELETE', '/tokens/revoke/guarded'))).toEqual([400, '2fa_required'])
    await session('DELETE', '/tokens/revoke/guarded', { json: { totpCode: next() } })
    await session('DELETE', '/tokens/revoke/second', { json: { twoFactorCode: next() } })
  })
})

describe.each([python, php, go, curl].map(dialect => ({ dialect, name: dialect.name })))(
  'sessions of $name',
  ({ dialect }) => {
    test('login, with the second step if enabled', async () => {
      const { email } = await person()
      const call = caller(dialect, service.port, null)
      const login = () => call('POST', '/auth/login', { json: { email, password: PASSWORD } })
      const { status, json } = await login()
      expect([status, Object.keys(json).toSorted()]).toEqual([200, ['token', 'user']])

      const next = await protect(json.token)
      const half = await login()
      expect([half.status, half.json.requires2FA, half.json.token]).toEqual([200, true, undefined])
      const { temporaryToken } = half.json
      const wrong = await call('POST', '/auth/2fa/verify-login', { json: { temporaryToken, code: '000000' } })
      expect(wrong.status).toBe(400)
      const again = (await login()).json.temporaryToken
      const whole = await call('POST', '/auth/2fa/verify-login', { json: { temporaryToken: again, code: next() } })
      expect([whole.status, whole.json.user.email]).toEqual([200, email])

      const headers = [`Authorization: Bearer ${whole.json.token}`, 'X-Request-Source: web']
      expect((await call('GET', '/users/me', { headers })).json.email).toBe(email)
      expect((await call('POST', '/auth/logout', { headers })).status).toBe(200)
      expect((await call('GET', '/users/me', { headers })).status).toBe(401)
    })
  },
)
