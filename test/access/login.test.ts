import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ScryptHasher } from '../../src/access/accounts/password-hasher.ts'
import { SignUp } from '../../src/access/accounts/sign-up.ts'
import { MemoryAttempts } from '../../src/access/limits/memory-attempts.ts'
import type { Account } from '../../src/access/principal.ts'
import { totpCode, totpStep } from '../../src/access/sign-in/totp.ts'
import { withDefaults } from '../../src/config/config.ts'
import { type Access, CountedScrypt, failure, openAccess } from './support.ts'

const PASSWORD = 'a password to remember'
const QUARTER_MS = 15 * 60_000
const ADDRESS = '192.0.2.1'
let access: Access
let account: Account

beforeEach(async () => {
  access = openAccess()
  account = await access.accounts.create({ email: 'someone@example.org', plan: 'premium', password: PASSWORD })
})
afterEach(() => access.close())

const login = (email: string, password = PASSWORD, address: string | undefined = undefined) =>
  access.logins.login({ email, password }, address)

async function sessionOf(email = account.email): Promise<string> {
  const outcome = await login(email)
  if (!('token' in outcome)) throw new Error('a code was asked for')
  return outcome.token
}

const bearer = (token: string) => access.authenticate({ authorization: `Bearer ${token}` })

describe('a failed login', () => {
  const work = async (attempt: () => Promise<unknown>) => {
    const before = access.scrypt.calls
    return { ...(await failure(attempt)), scrypts: access.scrypt.calls - before }
  }

  test('gets the same answer after the same work for every reason', async () => {
    await access.accounts.create({ email: 'keys@example.org', plan: 'free' })
    const wrong = await work(() => login(account.email, 'wrong'))
    expect(wrong).toEqual({ code: 'INVALID_API_KEY', message: expect.any(String), details: {}, scrypts: 1 })
    expect(await work(() => login('nobody@example.org'))).toEqual(wrong)
    expect(await work(() => login('keys@example.org'))).toEqual(wrong)
    expect(await work(() => login(''))).toEqual(wrong)
    for (let tries = 1; tries < 10; tries++) expect(await work(() => login(account.email, 'wrong'))).toEqual(wrong)
    // The account is locked, so the right password fails too.
    expect(await work(() => login(account.email))).toEqual(wrong)
    expect(await work(() => login(account.email.toUpperCase()))).toEqual(wrong)
    for (let tries = 1; tries < 12; tries++) expect(await work(() => login('nobody@example.org'))).toEqual(wrong)
  })

  test('locks only its own account, for 15 minutes', async () => {
    for (let tries = 0; tries < 30; tries++) await failure(() => login(account.email, 'wrong'))
    const other = await access.accounts.create({ email: 'other@example.org', plan: 'free', password: PASSWORD })
    await sessionOf(other.email)
    access.clock.advance(QUARTER_MS - 1)
    expect((await failure(() => sessionOf())).code).toBe('INVALID_API_KEY')
    access.clock.advance(1)
    await sessionOf()
  })

  test('no longer counts after a successful login', async () => {
    for (let round = 0; round < 3; round++) {
      for (let tries = 0; tries < 9; tries++) await failure(() => login(account.email, 'wrong'))
      await sessionOf()
    }
  })

  test('counts before its result is known, so concurrent guesses gain nothing', async () => {
    const guesses = Array.from({ length: 40 }, (_, i) => failure(() => login(account.email, `guess ${i}`, ADDRESS)))
    const codes = (await Promise.all(guesses)).map(({ code }) => code)
    expect(codes.filter(code => code === 'INVALID_API_KEY')).toHaveLength(30)
    expect(codes.filter(code => code === 'RATE_LIMIT')).toHaveLength(10)
    expect((await failure(() => sessionOf())).code).toBe('INVALID_API_KEY')
  })

  test('blocks its address without hashing until the window ends', async () => {
    for (let tries = 0; tries < 30; tries++) await failure(() => login(`nobody${tries}@example.org`, 'x', ADDRESS))
    const refused = await work(() => login(account.email, PASSWORD, ADDRESS))
    expect(refused).toMatchObject({ code: 'RATE_LIMIT', details: { retryAfter: 900, remaining: 0 }, scrypts: 0 })
    expect(await login(account.email, PASSWORD, '192.0.2.2')).toHaveProperty('token')
    access.clock.advance(QUARTER_MS)
    expect(await login(account.email, PASSWORD, ADDRESS)).toHaveProperty('token')
  })

  test('counts against its address, and a successful login does not', async () => {
    for (let round = 0; round < 40; round++) await login(account.email, PASSWORD, ADDRESS)
    await failure(() => login(account.email, 'wrong', ADDRESS))
    expect(await login(account.email, PASSWORD, ADDRESS)).toHaveProperty('token')
  })
})

describe('passwords', () => {
  test('the next login rehashes a password of another cost', async () => {
    const scrypt = new CountedScrypt()
    const former = await new ScryptHasher({ cost: 32, blockSize: 8, parallelization: 1 }, scrypt.derive).hash(PASSWORD)
    await access.store.accounts.setPassword(account.id, former, null)
    const token = await sessionOf()
    const stored = await access.store.accounts.passwordHash(account.id)
    expect(stored).toMatch(/^scrypt\$N=16,r=8,p=1\$/)
    await sessionOf()
    expect(await access.store.accounts.passwordHash(account.id)).toBe(stored)
    expect((await bearer(token)).account.id).toBe(account.id)
  })

  test('match as a whole, in every Unicode form of the same letters', async () => {
    const hasher = new ScryptHasher({ cost: 16, blockSize: 8, parallelization: 1 })
    const stored = await hasher.hash('pässwörd')
    expect(await hasher.verify('pässwörd', stored)).toBe(true)
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), async other => {
        expect(await hasher.verify(other, stored)).toBe(other.normalize('NFKC') === 'pässwörd')
        expect(await hasher.verify(other, null)).toBe(false)
        expect(await hasher.verify(other, 'damaged')).toBe(false)
      }),
      { numRuns: 30 },
    )
    expect(await hasher.hash('pässwörd')).not.toBe(stored)
  })

  test('more than the queue holds at once are refused as UNAVAILABLE', async () => {
    const all = Array.from({ length: 101 }, () => login('nobody@example.org', 'x'))
    const codes = (await Promise.all(all.map(attempt => failure(() => attempt)))).map(({ code }) => code)
    expect(codes.filter(code => code === 'UNAVAILABLE')).toHaveLength(1)
  })

  test('have 8 to 1,024 characters', async () => {
    for (const password of ['', '1234567', 'x'.repeat(1_025)]) {
      const refused = await failure(() => access.accounts.setPassword(account.id, password))
      expect(refused).toMatchObject({ code: 'VALIDATION', message: expect.stringMatching(/^password must have 8 to/) })
    }
    await access.accounts.setPassword(account.id, '🐙'.repeat(8))
    expect((await failure(() => access.accounts.setPassword('nobody', PASSWORD))).code).toBe('NOT_FOUND')
  })

  test('set by the operator end every session at once', async () => {
    const token = await sessionOf()
    await bearer(token)
    await access.accounts.setPassword(account.id, 'another password')
    expect((await failure(() => bearer(token))).code).toBe('INVALID_API_KEY')
    expect((await failure(() => login(account.email))).code).toBe('INVALID_API_KEY')
  })

  test('cannot be guessed with a session', async () => {
    const principal = await bearer(await sessionOf())
    const change = (currentPassword: string) =>
      access.passwords.change(principal, { currentPassword, newPassword: 'another password' })
    for (let tries = 0; tries < 10; tries++) {
      expect((await failure(() => change('wrong'))).message).toMatch(/^currentPassword/)
    }
    expect(await failure(() => change(PASSWORD))).toMatchObject({ code: 'RATE_LIMIT', details: { retryAfter: 900 } })
    access.clock.advance(QUARTER_MS)
    await change(PASSWORD)
    expect(
      (await access.authenticate({ authorization: `Bearer ${await loginWith('another password')}` })).account.id,
    ).toBe(account.id)
  })

  async function loginWith(password: string): Promise<string> {
    const outcome = await login(account.email, password)
    return 'token' in outcome ? outcome.token : ''
  }

  test('that change end a login that still needs its code', async () => {
    const secret = await protect()
    const outcome = await login(account.email)
    const temporaryToken = 'temporaryToken' in outcome ? outcome.temporaryToken : ''
    await access.accounts.setPassword(account.id, 'another password')
    access.clock.advance(30_000)
    const code = totpCode(secret, totpStep(access.clock.now()))
    const verify = () => access.logins.verifyLogin({ temporaryToken, code }, undefined)
    expect((await failure(verify)).code).toBe('INVALID_API_KEY')
  })
})

/** Turns the second factor on and returns its secret. */
async function protect(): Promise<Buffer> {
  const { secret: typed } = await access.secondFactor.begin(account)
  const bits = [...typed].map(letter => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
  const secret = Buffer.from((bits.join('').match(/.{8}/g) ?? []).map(byte => Number.parseInt(byte, 2)))
  await access.secondFactor.enable(account.id, totpCode(secret, totpStep(access.clock.now())))
  access.clock.advance(30_000)
  return secret
}

describe('the second factor', () => {
  test('accepts a code once, even for concurrent requests', async () => {
    const secret = await protect()
    const code = totpCode(secret, totpStep(access.clock.now()))
    const checks = Array.from({ length: 4 }, () => access.secondFactor.check(account.id, code))
    const outcomes = await Promise.allSettled(checks)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  test('accepts one of two concurrent requests with the same temporary token', async () => {
    const secret = await protect()
    const outcome = await login(account.email)
    const temporaryToken = 'temporaryToken' in outcome ? outcome.temporaryToken : ''
    const step = totpStep(access.clock.now())
    const codes = [totpCode(secret, step), totpCode(secret, step + 1)]
    const outcomes = await Promise.allSettled(
      codes.map(code => access.logins.verifyLogin({ temporaryToken, code }, undefined)),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  test('refuses a code older than the last one used', async () => {
    const secret = await protect()
    access.clock.advance(60_000)
    const step = totpStep(access.clock.now())
    await access.secondFactor.check(account.id, totpCode(secret, step + 1))
    for (const older of [step - 1, step, step + 1]) {
      expect((await failure(() => access.secondFactor.check(account.id, totpCode(secret, older)))).code).toBe(
        '2fa_invalid',
      )
    }
  })

  test('accepts five wrong codes in 15 minutes, then refuses all', async () => {
    const secret = await protect()
    const check = (code: string) => failure(() => access.secondFactor.check(account.id, code))
    for (let tries = 0; tries < 5; tries++) expect((await check('wrong')).code).toBe('2fa_invalid')
    const right = () => totpCode(secret, totpStep(access.clock.now()) + 1)
    expect((await check(right())).code).toBe('RATE_LIMIT')
    access.clock.advance(QUARTER_MS)
    await access.secondFactor.check(account.id, right())
  })

  test('can be turned off by the operator', async () => {
    await protect()
    expect(await access.secondFactor.disable(account.id)).toBe(true)
    expect(await access.secondFactor.disable(account.id)).toBe(false)
    expect(await login(account.email)).toHaveProperty('token')
  })
})

describe('sign-up', () => {
  const attempts = () => new MemoryAttempts(access.clock)
  const input = { email: 'new@example.org', password: PASSWORD }

  test('is off by default', async () => {
    for (const signup of [{}, { enabled: false }, { plan: 'premium' }]) {
      const signUp = new SignUp(access.accounts, withDefaults({ signup }).signup, access.clock, attempts())
      expect((await failure(() => signUp.signUp(input, ADDRESS))).code).toBe('NOT_OFFERED')
    }
    expect(await access.accounts.find(input.email)).toBeUndefined()
  })

  test('assigns the configured plan, and limits new accounts per address', async () => {
    const signUp = new SignUp(
      access.accounts,
      withDefaults({ signup: { enabled: true } }).signup,
      access.clock,
      attempts(),
    )
    for (let i = 0; i < 10; i++) {
      expect((await signUp.signUp({ ...input, email: `new${i}@example.org` }, ADDRESS)).plan).toBe('free')
    }
    expect(await failure(() => signUp.signUp(input, ADDRESS))).toMatchObject({ code: 'RATE_LIMIT' })
    await signUp.signUp(input, '192.0.2.2')
    expect(await login(input.email)).toHaveProperty('token')
  })
})
