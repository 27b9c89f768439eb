import { createHmac } from 'node:crypto'
import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Authenticator } from '../../src/access/credentials/authenticator.ts'
import { CredentialCache } from '../../src/access/credentials/credential-cache.ts'
import type { CredentialVerifier } from '../../src/access/credentials/credential-verifier.ts'
import { SCOPES } from '../../src/access/principal.ts'
import { SecretsFile } from '../../src/access/sessions/secrets-file.ts'
import { SESSION_MS } from '../../src/access/sessions/session-service.ts'
import { SessionTokens } from '../../src/access/sessions/session-token.ts'
import { SigningKeys } from '../../src/access/sessions/signing-keys.ts'
import { createEngine } from '../../src/index.ts'
import { openAccounts } from '../../src/wiring/open-accounts.ts'
import { callApi } from '../support/api-call.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newDirectory } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { failure, KeptKeys, openAccess, StandingClock } from './support.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
const PASSWORD = 'a password to remember'

function tokensOf(clock: StandingClock, store = new KeptKeys()) {
  return { store, clock, tokens: new SessionTokens(new SigningKeys(store, clock, SESSION_MS), clock) }
}

function claimsAt(now: number) {
  return { id: 'session', accountId: 'account', createdAt: now, expiresAt: now + SESSION_MS }
}

describe('session tokens', () => {
  test('name their session and account until they expire', async () => {
    const { tokens, clock } = tokensOf(new StandingClock())
    const token = await tokens.sign(claimsAt(clock.now()))
    expect(await tokens.verify(token)).toEqual({ id: 'session', accountId: 'account' })
    clock.advance(SESSION_MS - 1_000)
    expect(await tokens.verify(token)).not.toBeNull()
    clock.advance(1_000)
    expect(await tokens.verify(token)).toBeNull()
  })

  test('are refused if another node signed them, even with equal claims', async () => {
    const [one, other] = [tokensOf(new StandingClock()), tokensOf(new StandingClock())]
    const now = one.clock.now()
    await other.tokens.sign(claimsAt(now))
    expect(await other.tokens.verify(await one.tokens.sign(claimsAt(now)))).toBeNull()
  })

  test('are refused if any character changes, and no input throws', async () => {
    const { tokens, clock } = tokensOf(new StandingClock())
    const token = await tokens.sign(claimsAt(clock.now()))
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...letters), async (at, letter) => {
        const changed = token.slice(0, at) + letter + token.slice(at + 1)
        // Some bits of the last character encode nothing.
        if (at === token.length - 1 || changed === token) return
        expect(await tokens.verify(changed)).toBeNull()
      }),
    )
    const part = fc.oneof(
      fc.base64String(),
      fc.json().map(text => Buffer.from(text).toString('base64url')),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 5 }), async parts => {
        expect(await tokens.verify(parts.join('.'))).toBeNull()
      }),
    )
  })

  test.each<[string, object, object]>([
    ['another issuer', {}, { iss: 'other' }],
    ['no issuer', {}, { iss: undefined }],
    ['no expiry', {}, { exp: undefined }],
    ['an expiry that is no number', {}, { exp: 'never' }],
    ['no session', {}, { jti: undefined }],
    ['a session that is no text', {}, { jti: { a: 1 } }],
    ['no subject', {}, { sub: undefined }],
    ['not valid yet', {}, { nbf: 4_102_444_800 }],
    ['another type', { typ: 'at+jwt' }, {}],
    ['another algorithm', { alg: 'HS384' }, {}],
    ['no algorithm', { alg: 'none' }, {}],
    ['another key', { kid: 'x' }, {}],
    ['a key that is no text', { kid: 5 }, {}],
    ['no key', { kid: undefined }, {}],
    ['an extension that we must know', { crit: ['b64'], b64: false }, {}],
  ])('with %s are refused, even if correctly signed', async (_, header, claims) => {
    const { tokens, clock, store } = tokensOf(new StandingClock())
    const token = await tokens.sign(claimsAt(clock.now()))
    const [head = '', payload = ''] = token.split('.')
    const [kid] = store.signingKeys
    const sign = (head: object, claims: object): string => {
      const text = [head, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
      const key = Buffer.from(kid?.secret ?? '', 'base64url')
      return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
    }
    const parse = (part: string): object => JSON.parse(Buffer.from(part, 'base64url').toString())
    expect(await tokens.verify(sign(parse(head), parse(payload)))).not.toBeNull()
    expect(await tokens.verify(sign({ ...parse(head), ...header }, { ...parse(payload), ...claims }))).toBeNull()
  })
})

describe('signing keys', () => {
  test('are created on first use and every 30 days; old tokens verify', async () => {
    const { tokens, clock, store } = tokensOf(new StandingClock())
    expect(store.signingKeys).toEqual([])
    await Promise.all([1, 2, 3].map(() => tokens.sign(claimsAt(clock.now()))))
    expect(store.signingKeys).toHaveLength(1)
    clock.advance(30 * DAY_MS - 1_000)
    const last = await tokens.sign(claimsAt(clock.now()))
    const [first] = store.signingKeys
    clock.advance(1_000)
    const fresh = await tokens.sign(claimsAt(clock.now()))
    expect(store.signingKeys.map(({ kid }) => kid)).toEqual([expect.not.stringMatching(first?.kid ?? ''), first?.kid])
    expect(await tokens.verify(last)).not.toBeNull()
    expect(await tokens.verify(fresh)).not.toBeNull()
    clock.advance(30 * DAY_MS)
    await tokens.sign(claimsAt(clock.now()))
    expect(store.signingKeys).toHaveLength(2)
    expect(store.signingKeys.map(({ kid }) => kid)).not.toContain(first?.kid)
  })

  test('verify tokens after a restart', async () => {
    const { tokens, clock, store } = tokensOf(new StandingClock())
    const token = await tokens.sign(claimsAt(clock.now()))
    expect(await tokensOf(clock, store).tokens.verify(token)).not.toBeNull()
  })

  test('that cannot be stored sign no token', async () => {
    const store = new KeptKeys()
    store.replace = () => Promise.reject(new Error('no space'))
    const { tokens, clock } = tokensOf(new StandingClock(), store)
    await expect(tokens.sign(claimsAt(clock.now()))).rejects.toThrow('no space')
  })
})

describe('the secrets file', () => {
  const key = { kid: 'a', secret: 'x'.repeat(43), createdAt: 1 }

  test('is readable by its owner only, and replaced as a whole', () =>
    withTempDir(async directory => {
      const path = join(directory, 'secrets')
      const file = await SecretsFile.open(path)
      expect(await file.load()).toEqual([])
      await file.replace(null, [key])
      expect((await stat(path)).mode & 0o777).toBe(0o600)
      await chmod(path, 0o644)
      expect(await (await SecretsFile.open(path)).load()).toEqual([key])
      expect((await stat(path)).mode & 0o777).toBe(0o600)
    }))

  test.each(['', '{}', '{"signingKeys": [{"kid": "a", "secret": "short", "createdAt": 1}]}', 'null'])(
    'that contains %j is refused with its path',
    text =>
      withTempDir(async directory => {
        const path = join(directory, 'secrets')
        await writeFile(path, text)
        const refused = await failure(() => SecretsFile.open(path))
        expect(refused).toMatchObject({ code: 'DATA_DIR_UNUSABLE', message: expect.stringContaining(path) })
      }),
  )
})

describe('sessions of an engine', () => {
  const options = { clock: new ManualClock(), passwordCost: 1_024 }

  async function signIn(engine: Awaited<ReturnType<typeof createEngine>>): Promise<string> {
    const body = JSON.stringify({ email: 'someone@example.org', password: PASSWORD })
    return (await callApi(engine, 'POST', '/auth/login', { body })).json.token
  }

  test('survive a restart, but not a new password or secrets file', () =>
    withTempDir(async dataDir => {
      const start = () => createEngine({ ...options, dataDir: newDirectory(dataDir) })
      let engine = await start()
      const account = await engine.accounts.create({ email: 'someone@example.org', plan: 'free', password: PASSWORD })
      const token = await signIn(engine)
      const me = async () => (await callApi(engine, 'GET', '/users/me', { authorization: `Bearer ${token}` })).status
      expect(await me()).toBe(200)
      await engine.stop()
      expect((await stat(join(dataDir, 'secrets'))).mode & 0o777).toBe(0o600)
      expect(await readFile(join(dataDir, 'secrets'), 'utf8')).not.toContain(token)

      engine = await start()
      expect(await me()).toBe(200)
      const outside = openAccounts({ dataDir, config: { passwordCost: 1_024 }, clock: options.clock })
      await outside.accounts.setPassword(account.id, PASSWORD)
      outside.close()
      options.clock.advance(1_000)
      expect(await me()).toBe(401)
      const second = await signIn(engine)
      await engine.stop()

      await rm(join(dataDir, 'secrets'))
      engine = await start()
      expect((await callApi(engine, 'GET', '/users/me', { authorization: `Bearer ${second}` })).status).toBe(401)
      await signIn(engine)
      await engine.stop()
    }))

  test('sign-up is refused by default', () =>
    withTempDir(async dataDir => {
      const engine = await createEngine({ ...options, dataDir: newDirectory(dataDir) })
      const body = JSON.stringify({ email: 'someone@example.org', password: PASSWORD })
      const answer = await callApi(engine, 'POST', '/auth/signup', { body })
      expect([answer.status, answer.json.code]).toEqual([403, 'NOT_OFFERED'])
      expect(await engine.accounts.list()).toEqual([])
      await engine.stop()
    }))

  test('an allowlist checks the client address behind trusted proxies only', () =>
    withTempDir(async dataDir => {
      const call = async (trustedProxies: number, forwarded: string, remoteAddress = '10.0.0.1'): Promise<number> => {
        const engine = await createEngine({ ...options, dataDir: newDirectory(dataDir), trustedProxies })
        const account = (await engine.accounts.ensureOwner()).account
        const name = `key ${trustedProxies} ${Math.random()}`
        const { secret } = await engine.keys.create(account.id, { name, ipAllowlist: ['192.0.2.7'] })
        const request = { 'x-api-key': secret, 'x-forwarded-for': forwarded }
        const { status } = await callApi(engine, 'GET', '/users/me', request, remoteAddress)
        await engine.stop()
        return status
      }
      expect(await call(0, '192.0.2.7')).toBe(403)
      expect(await call(0, '10.9.9.9', '192.0.2.7')).toBe(200)
      expect(await call(1, '192.0.2.7')).toBe(200)
      expect(await call(1, '192.0.2.7, 198.51.100.1')).toBe(403)
      expect(await call(2, '192.0.2.7, 198.51.100.1')).toBe(200)
      expect(await call(1, 'unknown')).toBe(403)
    }))
})

test('a credential revoked during its lookup is not cached', async () => {
  const access = openAccess()
  try {
    const { id } = await access.accounts.create({ email: 'someone@example.org', plan: 'free' })
    let meanwhile = (): void => {}
    let lookups = 0
    const cache = new CredentialCache(access.clock, () => 0)
    const verifier: CredentialVerifier = {
      verify: async () => {
        lookups++
        meanwhile()
        const credential = { kind: 'session', id: 's', name: null, scopes: SCOPES, expiresAt: null } as const
        return { accountId: id, credential, allowedFrom: null, used: () => {} }
      },
    }
    const { clock, plans, store } = access
    const authenticator = new Authenticator({ accounts: store.accounts, plans, cache, clock, verifiers: [verifier] })
    const ask = () => authenticator.authenticate({ header: () => 'secret', remoteAddress: undefined })
    meanwhile = () => cache.clear()
    await ask()
    meanwhile = () => {}
    await ask()
    await ask()
    expect(lookups).toBe(2)
  } finally {
    access.close()
  }
})
