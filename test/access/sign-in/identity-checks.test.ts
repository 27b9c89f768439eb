import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { oidc } from '../../../adapters/oidc/index.ts'
import {
  createEngine,
  type Engine,
  type EngineOptions,
  HoldfastError,
  type Identity,
  type IdentityProvider,
} from '../../../src/index.ts'
import { callApi } from '../../support/api-call.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { newDirectory } from '../../support/new-database.ts'
import { ACCESS_TOKEN, CLIENT_ID, CLIENT_SECRET, TestProvider } from '../../support/oidc-provider.ts'
import { withDatabase } from '../../support/store-inspection.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const MINUTE = 60_000
const REFUSED = new HoldfastError('INVALID_API_KEY', 'no longer a user')
const AWAY = new HoldfastError('UNAVAILABLE', 'no answer')
const ADA: Identity = {
  ...{ issuer: 'https://id.example.org', subject: 'ada', email: 'ada@example.org', name: 'Ada', groups: ['staff'] },
  refreshToken: 'token-0',
}

/** A provider without HTTP. `answer` decides what a refresh gets. */
class ScriptedProvider implements IdentityProvider {
  readonly used: string[] = []
  identity = ADA
  answer: () => Promise<Identity> = async () => ({ ...this.identity, refreshToken: `token-${this.used.length}` })

  start = async () => ({ url: 'https://id.example.org/', secret: 'secret' })
  finish = async () => this.identity
  refresh = ({ refreshToken }: { refreshToken: string }): Promise<Identity> => {
    this.used.push(refreshToken)
    return this.answer()
  }
}

interface Node {
  engine: Engine
  clock: ManualClock
  provider: ScriptedProvider
  signIn(): Promise<{ token: string }>
  plan(): Promise<string | undefined>
  /** Lets the minutes pass as the looks of a node see them. */
  pass(minutes: number): Promise<void>
}

const configured = (provider: IdentityProvider): Partial<EngineOptions> => ({
  oidc: {
    ...{ issuer: ADA.issuer, clientId: CLIENT_ID, redirectUri: 'https://pins.example.org/console/' },
    groups: [{ group: 'staff', plan: 'premium' }],
  },
  signIn: async () => provider,
})

async function withNode(run: (node: Node, dataDir: string) => Promise<void>): Promise<void> {
  await withTempDir(async dataDir => {
    const clock = new ManualClock()
    const provider = new ScriptedProvider()
    const engine = await createEngine({
      dataDir: newDirectory(dataDir),
      clock,
      passwordCost: 1_024,
      ...configured(provider),
    })
    try {
      await run(nodeOf(engine, clock, provider), dataDir)
    } finally {
      await engine.stop()
    }
  })
}

function nodeOf(engine: Engine, clock: ManualClock, provider: ScriptedProvider): Node {
  return {
    engine,
    clock,
    provider,
    signIn: async () => {
      const body = JSON.stringify({ secret: 'secret', answer: '?' })
      return (await callApi(engine, 'POST', '/auth/provider/finish', { body })).json
    },
    plan: async () => (await engine.accounts.find('ada@example.org'))?.plan,
    pass: async minutes => {
      for (let passed = 0; passed < minutes; passed += 5) {
        await clock.advance(5 * MINUTE)
        // A look writes three times. Later writes end after them.
        const { account } = await engine.accounts.ensureOwner()
        for (let writes = 0; writes < 5; writes++) await engine.accounts.setDefaultCluster(account.id, null)
      }
    },
  }
}

const statusOf = async ({ engine }: Node, token: string): Promise<number> =>
  (await callApi(engine, 'GET', '/users/me', { authorization: `Bearer ${token}` })).status

describe('the plan of a user of a provider', () => {
  test('lasts while the provider confirms it, each time with the next token', () =>
    withNode(async ({ provider, signIn, plan, pass }, dataDir) => {
      await signIn()
      await pass(150)
      expect(await plan()).toBe('premium')
      expect(provider.used).toEqual(['token-0', 'token-1', 'token-2', 'token-3', 'token-4'])
      for (const file of ['holdfast.db', 'holdfast.db-wal']) {
        expect((await readFile(join(dataDir, file))).includes('token-')).toBe(false)
      }
    }))

  test('follows a lost group within an hour', () =>
    withNode(async ({ provider, signIn, plan, pass }) => {
      await signIn()
      provider.identity = { ...ADA, groups: [] }
      await pass(35)
      expect(await plan()).toBe('free')
    }))

  test('ends with its sessions when the provider refuses, and keys stay', () =>
    withNode(async node => {
      const { engine, provider, signIn, plan, pass } = node
      const { token } = await signIn()
      const { id = '' } = (await engine.accounts.find('ada@example.org')) ?? {}
      await engine.accounts.setPassword(id, 'a password to remember', { keep: null })
      const again = await signIn()
      const body = JSON.stringify({ email: 'ada@example.org', password: 'a password to remember' })
      const own = (await callApi(engine, 'POST', '/auth/login', { body })).json
      const { secret } = await engine.keys.create(id, { name: 'ci' })
      provider.answer = () => Promise.reject(REFUSED)
      expect([await statusOf(node, token), await statusOf(node, again.token)]).toEqual([401, 200])
      await pass(35)
      expect(await plan()).toBe('free')
      expect([await statusOf(node, again.token), await statusOf(node, own.token)]).toEqual([401, 200])
      expect(await statusOf(node, secret)).toBe(200)
      const asked = provider.used.length
      await pass(60)
      expect(provider.used.length).toBe(asked)
      provider.answer = async () => ADA
      await signIn()
      expect(await plan()).toBe('premium')
    }))

  test('survives a short outage, lapses in a long one, and comes back', () =>
    withNode(async node => {
      const { provider, signIn, plan, pass } = node
      const { token } = await signIn()
      const { answer } = provider
      provider.answer = () => Promise.reject(AWAY)
      await pass(45)
      expect([await plan(), await statusOf(node, token)]).toEqual(['premium', 200])
      await pass(10)
      expect(await plan()).toBe('free')
      provider.answer = answer
      await pass(5)
      expect(await plan()).toBe('premium')
      expect(new Set(provider.used)).toEqual(new Set(['token-0']))
    }))

  test('lapses in time behind a provider that never answers', () =>
    withNode(async ({ provider, signIn, plan, pass }) => {
      await signIn()
      const { promise, reject } = Promise.withResolvers<Identity>()
      provider.answer = () => promise
      try {
        await pass(55)
        expect(await plan()).toBe('free')
        expect(provider.used).toEqual(['token-0'])
      } finally {
        reject(AWAY)
      }
    }))

  test('is not confirmed by an answer for another user', () =>
    withNode(async ({ provider, signIn, plan, pass }) => {
      for (const other of [{ subject: 'eve' }, { issuer: 'https://evil.example' }]) {
        await signIn()
        provider.answer = async () => ({ ...ADA, ...other })
        await pass(55)
        expect(await plan()).toBe('free')
      }
    }))

  test('is not confirmed with the token of another user', () =>
    withNode(async ({ provider, signIn, plan, pass }, dataDir) => {
      await signIn()
      provider.identity = { ...ADA, subject: 'eve', email: 'eve@example.org', refreshToken: 'token of eve' }
      await signIn()
      const swap = `UPDATE identities SET refresh_token = (SELECT refresh_token FROM identities WHERE subject = 'eve')
        WHERE subject = 'ada'`
      withDatabase(dataDir, db => db.prepare(swap).run())
      await pass(55)
      expect([await plan(), provider.used]).toEqual(['free', ['token of eve']])
    }))

  test('is not overwritten by a refresh that a sign-in has overtaken', () =>
    withNode(async ({ provider, signIn, plan, pass }) => {
      await signIn()
      const { promise, reject } = Promise.withResolvers<Identity>()
      provider.answer = () => promise
      await pass(30)
      provider.identity = { ...ADA, refreshToken: 'of the second sign-in' }
      await signIn()
      reject(REFUSED)
      await pass(5)
      expect(await plan()).toBe('premium')
    }))

  test('ends within an hour on a node whose configuration lost the provider', () =>
    withTempDir(async dataDir => {
      const clock = new ManualClock()
      const provider = new ScriptedProvider()
      const options = { dataDir: newDirectory(dataDir), clock, passwordCost: 1_024 }
      const first = await createEngine({ ...options, ...configured(provider) })
      await nodeOf(first, clock, provider).signIn()
      await first.stop()
      const second = await createEngine(options)
      try {
        const { plan, pass } = nodeOf(second, clock, provider)
        expect(await plan()).toBe('premium')
        await pass(55)
        expect(await plan()).toBe('free')
      } finally {
        await second.stop()
      }
    }))
})

test('the log names failed sign-ins, and no secret of theirs', () =>
  withTempDir(async dataDir => {
    await using provider = await TestProvider.start()
    let log = ''
    const sink = new Writable({
      write: (chunk, _, done) => {
        log += String(chunk)
        done()
      },
    })
    const clock = new ManualClock(Date.now())
    const redirectUri = 'https://pins.example.org/console/'
    const engine = await createEngine({
      ...{ dataDir: newDirectory(dataDir), clock, passwordCost: 1_024, logger: pino({ level: 'trace' }, sink) },
      oidc: { issuer: provider.issuer, clientId: CLIENT_ID, clientSecretEnv: 'SECRET', redirectUri },
      ...{ signIn: oidc, environment: { SECRET: CLIENT_SECRET } },
    })
    try {
      const secrets = [ACCESS_TOKEN, CLIENT_SECRET, encodeURIComponent(CLIENT_SECRET)]
      const attempt = async (): Promise<number> => {
        const { json: started } = await callApi(engine, 'POST', '/auth/provider/start')
        const { search, searchParams } = await provider.signIn(started.url)
        secrets.push(started.secret, searchParams.get('code') ?? 'none')
        const body = JSON.stringify({ secret: started.secret, answer: search })
        return (await callApi(engine, 'POST', '/auth/provider/finish', { body })).status
      }
      provider.fault = { claims: claims => ({ ...claims, aud: 'another' }) }
      expect(await attempt()).toBe(401)
      provider.fault = { tokens: ({ token_type: _, ...tokens }) => tokens }
      expect(await attempt()).toBe(401)
      provider.fault = {}
      expect(await attempt()).toBe(200)
      for (const fault of [{ claims: () => ({ iss: 'x' }) }, { tokens: () => ({ access_token: ACCESS_TOKEN }) }]) {
        provider.fault = fault
        const { length } = log
        for (let minutes = 0; minutes < 35; minutes += 5) await clock.advance(5 * MINUTE)
        await expect.poll(() => log.slice(length)).toContain('did not confirm')
      }
      secrets.push(...provider.refreshTokens)
      for (const secret of secrets) expect(log).not.toContain(secret)
      expect(log).toContain('a sign-in with the provider failed')
    } finally {
      await engine.stop()
    }
  }))
