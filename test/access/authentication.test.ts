import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Authenticator } from '../../src/access/credentials/authenticator.ts'
import { CredentialCache } from '../../src/access/credentials/credential-cache.ts'
import { type Account, type Principal, SCOPES, type Scope } from '../../src/access/principal.ts'
import { ScopePolicy } from '../../src/access/scope-policy.ts'
import { type Access, failure, openAccess, StandingClock } from './support.ts'

let access: Access
let account: Account
let secret: string

beforeEach(async () => {
  access = openAccess()
  account = await access.accounts.create({ email: 'someone@example.org', plan: 'premium' })
  secret = (await access.keys.create(account.id, { name: 'key' })).secret
})
afterEach(() => access.close())

const codeOf = async (headers: Record<string, string>, address?: string): Promise<string> =>
  (await failure(() => access.authenticate(headers, address))).code

describe('Authenticator', () => {
  test.each<[string, (key: string) => Record<string, string>]>([
    ['Bearer', key => ({ authorization: `Bearer ${key}` })],
    ['any case of Bearer', key => ({ authorization: `bEARER   ${key} ` })],
    ['X-API-Key', key => ({ 'x-api-key': key })],
    ['both', key => ({ authorization: `Bearer ${key}`, 'x-api-key': key })],
    ['a bad Bearer beside a good X-API-Key', key => ({ authorization: 'Bearer nonsense', 'x-api-key': key })],
    ['another scheme beside a good X-API-Key', key => ({ authorization: 'Basic eDp5', 'x-api-key': key })],
    ['a good Bearer beside a bad X-API-Key', key => ({ authorization: `Bearer ${key}`, 'x-api-key': 'nonsense' })],
  ])('accepts %s', async (_, headers) => {
    const { account: who, plan, credential } = await access.authenticate(headers(secret))
    expect([who.id, plan.name, credential.kind, credential.name]).toEqual([account.id, 'premium', 'key', 'key'])
  })

  test('uses the first header with a valid credential', async () => {
    const other = await access.accounts.create({ email: 'other@example.org', plan: 'free' })
    const theirs = (await access.keys.create(other.id, { name: 'key' })).secret
    const who = await access.authenticate({ authorization: `Bearer ${theirs}`, 'x-api-key': secret })
    expect(who.account.id).toBe(other.id)
    await access.accounts.setDisabled(other.id, true)
    expect(await codeOf({ authorization: `Bearer ${theirs}`, 'x-api-key': secret })).toBe('account_disabled')
  })

  test.each<[string, Record<string, string>]>([
    ['nothing', {}],
    ['empty headers', { authorization: '', 'x-api-key': ' ' }],
    ['a scheme alone', { authorization: 'Bearer' }],
    ['no such key', { 'x-api-key': 'hf_0000000000000000_00' }],
  ])('refuses %s as INVALID_API_KEY', async (_, headers) => {
    expect(await codeOf(headers)).toBe('INVALID_API_KEY')
  })

  test('cuts a header longer than any credential before verifying it', async () => {
    const seen: number[] = []
    const verify = async (secret: string) => {
      seen.push(secret.length)
      return null
    }
    const { clock, plans, store } = access
    const cache = new CredentialCache(clock, () => 0)
    const authenticator = new Authenticator({ accounts: store.accounts, plans, cache, clock, verifiers: [{ verify }] })
    const ask = (headers: Record<string, string>) =>
      failure(() => authenticator.authenticate({ header: name => headers[name], remoteAddress: undefined }))
    const long = 'x'.repeat(1_000_000)
    for (const headers of [{ 'x-api-key': long }, { authorization: `Bearer ${long}` }]) {
      expect((await ask(headers)).code).toBe('INVALID_API_KEY')
    }
    expect(seen).toEqual([2_048, 2_041])
    // Spaces around a valid key also count towards the length.
    const spaces = ' '.repeat(3_000)
    for (const headers of [
      { 'x-api-key': `${secret}${spaces}x` },
      { 'x-api-key': `${spaces}${secret}` },
      { authorization: `Bearer ${secret}${spaces}x` },
      { authorization: `Bearer ${spaces}${secret}` },
    ]) {
      expect(await codeOf(headers)).toBe('INVALID_API_KEY')
    }
  })

  test('refuses a key without the scheme Bearer', async () => {
    expect(await codeOf({ authorization: secret })).toBe('INVALID_API_KEY')
  })

  test('refuses a key from its expiry on, cached or not', async () => {
    const short = await access.keys.create(account.id, { name: 'short', expiresInDays: 1 })
    const unused = await access.keys.create(account.id, { name: 'unused', expiresInDays: 1 })
    access.clock.advance(86_400_000 - 1)
    expect((await access.authenticate({ 'x-api-key': short.secret })).credential.name).toBe('short')
    access.clock.advance(1)
    for (const key of [short, unused]) expect(await codeOf({ 'x-api-key': key.secret })).toBe('INVALID_API_KEY')
  })

  test('an allowlist admits only its own addresses', async () => {
    const ipAllowlist = ['192.0.2.0/24', '2001:db8::1']
    const { secret: bound } = await access.keys.create(account.id, { name: 'bound', ipAllowlist })
    for (const address of ['192.0.2.9', '::ffff:192.0.2.9', '2001:db8:0::1']) {
      expect((await access.authenticate({ 'x-api-key': bound }, address)).credential.name).toBe('bound')
    }
    for (const address of ['198.51.100.1', '2001:db8::2', undefined]) {
      expect(await codeOf({ 'x-api-key': bound }, address)).toBe('IP_NOT_ALLOWED')
    }
  })

  test('changes in the same process take effect at once', async () => {
    const headers = { 'x-api-key': secret }
    expect((await access.authenticate(headers)).plan.name).toBe('premium')
    await access.accounts.setPlan(account.id, 'unlimited')
    expect((await access.authenticate(headers)).plan.name).toBe('unlimited')
    await access.accounts.setDisabled(account.id, true)
    expect(await codeOf(headers)).toBe('account_disabled')
    await access.accounts.setDisabled(account.id, false)
    await access.authenticate(headers)
    await access.keys.revokeByName(account.id, 'key')
    expect(await codeOf(headers)).toBe('INVALID_API_KEY')
  })

  test('stores the last use at most once a minute', async () => {
    const lastUsedAt = async (): Promise<number | null | undefined> => {
      await access.writes.settled()
      return (await access.keys.list(account.id))[0]?.lastUsedAt
    }
    const first = access.clock.now()
    await access.authenticate({ 'x-api-key': secret })
    expect(await lastUsedAt()).toBe(first)
    access.clock.advance(59_999)
    await access.authenticate({ 'x-api-key': secret })
    expect(await lastUsedAt()).toBe(first)
    access.clock.advance(1)
    await access.authenticate({ 'x-api-key': secret })
    expect(await lastUsedAt()).toBe(first + 60_000)
  })
})

describe('AccountService', () => {
  test('an email is unique regardless of case', async () => {
    const again = () => access.accounts.create({ email: 'SomeOne@Example.org', plan: 'free' })
    expect(await failure(again)).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('email') })
    expect((await access.accounts.find('SOMEONE@example.org'))?.id).toBe(account.id)
    expect((await access.accounts.find(account.id))?.email).toBe('someone@example.org')
    expect(await access.accounts.find('nobody')).toBeUndefined()
  })

  test.each(['', 'someone', '@example.org', 'a b@example.org', 'a@b@c', `${'x'.repeat(250)}@x.org`, 'a\0@b'])(
    '%j is no email',
    async email => {
      expect(await failure(() => access.accounts.create({ email, plan: 'free' }))).toMatchObject({
        code: 'VALIDATION',
        message: expect.stringMatching(/^email/),
      })
    },
  )

  test('an unknown plan is refused with the names of all plans', async () => {
    const message = 'plan must be one of free, premium, unlimited'
    const create = () => access.accounts.create({ email: 'x@example.org', plan: 'gold' })
    expect(await failure(create)).toMatchObject({ code: 'VALIDATION', message })
    expect(await failure(() => access.accounts.setPlan(account.id, 'gold'))).toMatchObject({ message })
    expect((await failure(() => access.accounts.setPlan('nobody', 'free'))).code).toBe('NOT_FOUND')
  })

  test('creates the owner once, and reserves its email', async () => {
    expect((await failure(() => access.accounts.create({ email: 'Owner@localhost', plan: 'free' }))).code).toBe(
      'CONFLICT',
    )
    const { account: owner, created } = await access.accounts.ensureOwner()
    expect([owner.role, owner.plan, created]).toEqual(['owner', 'unlimited', true])
    expect(await access.accounts.ensureOwner()).toEqual({ account: owner, created: false })
    expect((await access.accounts.list()).map(({ id }) => id)).toContain(owner.id)
  })

  test('refuses a default cluster that the plan does not allow', async () => {
    expect((await access.accounts.setDefaultCluster(account.id, 'cl1-eu')).defaultCluster).toBe('cl1-eu')
    await access.accounts.setPlan(account.id, 'free')
    expect((await failure(() => access.accounts.setDefaultCluster(account.id, 'cl1-eu'))).code).toBe(
      'CLUSTER_NOT_ALLOWED',
    )
    expect((await access.accounts.setDefaultCluster(account.id, null)).defaultCluster).toBeNull()
    await access.accounts.setPlan(account.id, 'premium')
    expect((await failure(() => access.accounts.setDefaultCluster(account.id, 'nix'))).code).toBe('CLUSTER_NOT_ALLOWED')
  })
})

test('ScopePolicy names the first missing scope', () => {
  const policy = new ScopePolicy()
  expect(policy.decide(SCOPES, ['files:delete'])).toEqual({ allowed: true })
  expect(policy.decide(['files:read'], [])).toEqual({ allowed: true })
  expect(policy.decide(['files:read'], ['files:read', 'files:delete', 'cluster:read'])).toEqual({
    allowed: false,
    required: 'files:delete',
  })
})

test('ScopePolicy refuses other accounts on owner routes, and keys on session routes', async () => {
  const policy = new ScopePolicy()
  const as = (role: Account['role'], kind: 'key' | 'session', scopes: readonly Scope[] = SCOPES): Principal => {
    return { account: { ...account, role }, credential: { kind, scopes } } as unknown as Principal
  }
  policy.checkOwner(as('owner', 'key'))
  policy.checkSession(as('user', 'session'))
  const refusals = [
    () => policy.checkOwner(as('user', 'session')),
    () => policy.checkOwner(as('owner', 'key', ['files:read'])),
    () => policy.checkSession(as('owner', 'key')),
  ]
  const codes = await Promise.all(refusals.map(async refused => (await failure(refused)).code))
  expect(codes).toEqual(['OWNER_REQUIRED', 'missing_scope', 'SESSION_REQUIRED'])
})

test('CredentialCache checks for changes after the clock is set back', () => {
  const clock = new StandingClock()
  let version = 1
  const cache = new CredentialCache(clock, () => version)
  const known = {} as Parameters<CredentialCache['set']>[1]
  cache.set('hash', known, cache.epoch)
  expect(cache.get('hash')).toBe(known)
  version = 2
  clock.advance(-3_600_000)
  expect(cache.get('hash')).toBeUndefined()
})
