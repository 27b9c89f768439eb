import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { KeyInput } from '../../../src/access/keys/key-input.ts'
import { parseKeyInput } from '../../../src/access/keys/key-input.ts'
import { PlanCatalogue } from '../../../src/access/plan-catalogue.ts'
import { type Account, type Principal, SCOPES } from '../../../src/access/principal.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { openAccounts } from '../../../src/wiring/open-accounts.ts'
import { planOf } from '../../support/plans.ts'
import { type Access, failure, openAccess } from '../support.ts'

const DAY = 86_400_000
let access: Access
let account: Account

beforeEach(async () => {
  access = openAccess()
  account = await access.accounts.create({ email: 'someone@example.org', plan: 'premium' })
})
afterEach(() => access.close())

/** Creates a key as the operator, and returns its principal. */
async function signIn(input: KeyInput): Promise<Principal> {
  const { secret } = await access.keys.create(account.id, input)
  return access.authenticate({ 'x-api-key': secret }, '10.0.0.1')
}

function session(): Principal {
  const credential = { kind: 'session', id: 's', name: null, scopes: SCOPES, expiresAt: null } as const
  return { account, plan: access.plans.get(account.plan), credential }
}

test('a console key of a version before 0.4.0 keeps its sign-in', async () => {
  const parent = await signIn({ name: 'parent', scopes: SCOPES })
  const { secret, key } = await access.keys.generateForConsole(parent)
  const row = await access.store.keys.findByName(account.id, key.name)
  if (row === null) throw new Error('there is no key')
  await access.store.keys.revoke(row.id)
  const { parent: _, uses: __, ...rest } = row
  const older = { ...rest, name: `console-${parent.credential.id}` }
  expect(await access.store.keys.insert(older, { now: access.clock.now(), maxKeys: null })).toBe('inserted')
  const kept = await access.authenticate({ 'x-api-key': secret })
  expect(kept.credential.consoleOf).toBe(parent.credential.id)
  expect(await access.keys.endAllConsoles(kept)).toBe(1)
})

describe('key names', () => {
  const forbidden = /[/\\?#%\p{C}\p{Zl}\p{Zp}]/u

  test('accepts 1 to 64 printable characters, trimmed', () => {
    const names = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
      .map(name => name.trim())
      .filter(name => !forbidden.test(name) && !['', '.', '..'].includes(name) && [...name].length <= 64)
    fc.assert(
      fc.property(names, name => {
        expect(parseKeyInput({ name: ` ${name} ` }, 0).name).toBe(name)
      }),
    )
  })

  test('refuses a name with one bad character at any position', () => {
    const bad = fc.constantFrom('/', '\\', '?', '#', '%', '\0', '\n', '\u007f', '\u200b', '\u2028', '\ud800')
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z]{1,20}$/),
        bad,
        fc.stringMatching(/^[a-z]{1,20}$/),
        (before, char, after) => {
          expect(() => parseKeyInput({ name: before + char + after }, 0)).toThrow(/^name must/)
        },
      ),
    )
  })

  test.each(['', '   ', '.', '..', 'x'.repeat(65)])('%j is refused', name => {
    expect(() => parseKeyInput({ name }, 0)).toThrow(/^name must/)
  })

  test('counts characters, not code units', () => {
    expect(parseKeyInput({ name: '🐙'.repeat(64) }, 0).name).toHaveLength(128)
  })
})

describe('key input', () => {
  test.each<[object, RegExp]>([
    [{ name: 5 }, /^name must/],
    [{}, /^name must/],
    [{ name: 'k', scopes: ['files:all'] }, /^scopes must be among files:read/],
    [{ name: 'k', scopes: [] }, /^scopes must/],
    [{ name: 'k', scopes: 'files:read' }, /^scopes must be an array/],
    [{ name: 'k', permissions: ['root'] }, /^permissions must be among read, write, admin/],
    [{ name: 'k', expiresInDays: -1 }, /^expiresInDays must/],
    [{ name: 'k', expiresInDays: 1.5 }, /^expiresInDays must/],
    [{ name: 'k', expiresInDays: '3' }, /^expiresInDays must/],
    [{ name: 'k', expiresInDays: 1e9 }, /^expiresInDays must/],
    [{ name: 'k', ipAllowlist: ['10.0.0.0/99'] }, /^ipAllowlist: "10.0.0.0\/99"/],
    [{ name: 'k', label: 7 }, /^label must/],
    [{ name: 'k', scopes: Array(33).fill('files:read') }, /^scopes must have at most 32/],
    [{ name: 'k', permissions: Array(33).fill('read') }, /^permissions must have at most 32/],
    [{ name: 'k', ipAllowlist: Array(101).fill('10.0.0.1') }, /^ipAllowlist must have at most 100/],
    [{ name: 'k', label: 'a\nb' }, /^label must/],
  ])('%j is refused', (input, message) => {
    expect(() => parseKeyInput(input as KeyInput, 0)).toThrow(message)
  })

  test('an absent field has its default', () => {
    const expected = { name: 'k', expiresAt: null, ipAllowlist: [], label: null, upload: null }
    const scopes = ['files:read', 'files:write', 'cluster:read']
    expect(parseKeyInput({ name: 'k' }, 5)).toEqual({ ...expected, scopes })
    expect(parseKeyInput({ name: 'k', scopes: null, expiresInDays: 0, ipAllowlist: null, label: '' }, 5)).toEqual({
      ...expected,
      scopes,
    })
  })

  test('permissions become scopes', () => {
    const scopes = (permissions: string[]) => parseKeyInput({ name: 'k', permissions }, 0).scopes
    expect(scopes(['read'])).toEqual(['files:read', 'cluster:read'])
    expect(scopes(['write'])).toEqual(['files:write'])
    expect(scopes(['write', 'read'])).toEqual(['files:read', 'files:write', 'cluster:read'])
    expect(scopes(['admin'])).toEqual(SCOPES.filter(scope => scope !== 'share:write'))
  })
})

describe('generate', () => {
  test('returns a working secret, shows its prefix, and does not store it', async () => {
    const { secret, key } = await access.keys.generate(session(), { name: 'ci', label: 'builds', expiresInDays: 2 })
    expect(secret).toMatch(/^hf_[0-9a-f]{16}_[0-9a-f]{64}$/)
    expect(secret.startsWith(key.prefix)).toBe(true)
    expect(key).toMatchObject({ name: 'ci', label: 'builds', lastUsedAt: null })
    expect(key.expiresAt).toBe(access.clock.now() + 2 * DAY)
    expect((await access.authenticate({ authorization: `Bearer ${secret}` })).credential).toMatchObject({
      kind: 'key',
      id: key.id,
      name: 'ci',
    })
    expect(JSON.stringify(await access.keys.list(account.id))).not.toContain(secret.slice(key.prefix.length))
  })

  test('a key creates keys with a subset of its own scopes', async () => {
    const minter = await signIn({ name: 'minter', scopes: ['files:read', 'cluster:read'] })
    const { key } = await access.keys.generate(minter, { name: 'less', scopes: ['files:read'] })
    expect(key.scopes).toEqual(['files:read'])
    const refused = await failure(() => access.keys.generate(minter, { name: 'more', permissions: ['admin'] }))
    expect(refused).toMatchObject({ code: 'missing_scope', details: { required: 'files:write' } })
    expect((await access.keys.list(account.id)).map(({ name }) => name)).toEqual(['minter', 'less'])
  })

  test('a key creates no key with a later expiry', async () => {
    const minter = await signIn({ name: 'minter', scopes: SCOPES, expiresInDays: 10 })
    await access.keys.generate(minter, { name: 'sooner', expiresInDays: 9 })
    for (const expiresInDays of [11, 0, undefined]) {
      const refused = await failure(() => access.keys.generate(minter, { name: 'later', expiresInDays }))
      expect(refused).toMatchObject({ code: 'VALIDATION', message: expect.stringMatching(/^expiresInDays/) })
    }
  })

  test('a key creates no key for other addresses', async () => {
    const minter = await signIn({ name: 'minter', scopes: SCOPES, ipAllowlist: ['10.0.0.0/8'] })
    const inherited = await access.keys.generate(minter, { name: 'inherits' })
    expect(inherited.key.ipAllowlist).toEqual(['10.0.0.0/8'])
    const narrower = await access.keys.generate(minter, { name: 'narrower', ipAllowlist: ['10.0.0.1'] })
    expect(narrower.key.ipAllowlist).toEqual(['10.0.0.1'])
    const refused = await failure(() => access.keys.generate(minter, { name: 'wider', ipAllowlist: ['0.0.0.0/0'] }))
    expect(refused.code).toBe('IP_NOT_ALLOWED')
  })

  test('refuses the name of a live key of the same account', async () => {
    const first = await access.keys.generate(session(), { name: 'ci', expiresInDays: 1 })
    expect(await failure(() => access.keys.generate(session(), { name: ' ci ' }))).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('name'),
    })
    const other = await access.accounts.create({ email: 'other@example.org', plan: 'free' })
    await access.keys.create(other.id, { name: 'ci' })
    access.clock.advance(DAY)
    const second = await access.keys.generate(session(), { name: 'ci' })
    expect((await access.keys.list(account.id)).map(({ id }) => id)).toEqual([second.key.id])
    expect((await failure(() => access.authenticate({ 'x-api-key': first.secret }))).code).toBe('INVALID_API_KEY')
  })

  test('an unknown account is NOT_FOUND', async () => {
    expect(await failure(() => access.keys.create('nobody', { name: 'k' }))).toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('revoke', () => {
  test('needs a session, the key itself, or all its scopes', async () => {
    const reader = await signIn({ name: 'reader', scopes: ['files:read'] })
    const all = await signIn({ name: 'all', scopes: SCOPES })
    expect(await failure(() => access.keys.revoke(reader, 'all'))).toMatchObject({
      code: 'missing_scope',
      details: { required: 'files:write' },
    })
    await access.keys.revoke(reader, 'reader')
    await access.keys.create(account.id, { name: 'again', scopes: ['cluster:read'] })
    await access.keys.revoke(all, 'again')
    await access.keys.revoke(session(), 'all')
    expect(await access.keys.list(account.id)).toEqual([])
    expect((await failure(() => access.keys.revoke(session(), 'all'))).code).toBe('NOT_FOUND')
  })

  test('a key of another account is NOT_FOUND', async () => {
    const other = await access.accounts.create({ email: 'other@example.org', plan: 'free' })
    await access.keys.create(other.id, { name: 'theirs' })
    expect((await failure(() => access.keys.revoke(session(), 'theirs'))).code).toBe('NOT_FOUND')
    expect(await access.keys.list(other.id)).toHaveLength(1)
  })
})

describe('a secret chosen by the operator', () => {
  const secret = "a secret of the owner's own choosing"

  test('keeps its key when repeated, and the next secret replaces it', async () => {
    const first = await access.keys.adopt(account.id, 'bootstrap', secret)
    expect(first).toMatchObject({ prefix: '', scopes: [...SCOPES], expiresAt: null })
    expect((await access.keys.adopt(account.id, 'bootstrap', secret)).id).toBe(first.id)
    expect((await access.authenticate({ authorization: `Bearer ${secret}` })).credential.id).toBe(first.id)
    expect((await failure(() => access.authenticate({ 'x-api-key': secret.slice(0, -1) }))).code).toBe(
      'INVALID_API_KEY',
    )
    await access.keys.adopt(account.id, 'bootstrap', secret.toUpperCase())
    expect((await failure(() => access.authenticate({ 'x-api-key': secret }))).code).toBe('INVALID_API_KEY')
    expect((await access.authenticate({ 'x-api-key': secret.toUpperCase() })).account.id).toBe(account.id)
    expect(await access.keys.list(account.id)).toHaveLength(1)
  })

  test.each(['x'.repeat(31), `${'x'.repeat(40)}\n`, ` ${'x'.repeat(40)}`, 'é'.repeat(40)])(
    '%j is refused',
    async bad => {
      expect((await failure(() => access.keys.adopt(account.id, 'bootstrap', bad))).code).toBe('VALIDATION')
    },
  )

  test('is refused if a restricted key or another account has it', async () => {
    const lesser = await access.keys.create(account.id, { name: 'lesser' })
    expect((await failure(() => access.keys.adopt(account.id, 'bootstrap', lesser.secret))).code).toBe('CONFLICT')
    const other = await access.accounts.create({ email: 'other@example.org', plan: 'free' })
    const theirs = await access.keys.create(other.id, { name: 'theirs', scopes: SCOPES })
    expect((await failure(() => access.keys.adopt(account.id, 'bootstrap', theirs.secret))).code).toBe('CONFLICT')
  })
})

test('keys that another process creates or revokes change within a second', async () => {
  const outside = openAccounts({ dataDir: access.dataDir, clock: access.clock })
  const made = await outside.keys.create(account.id, { name: 'outside' })
  const headers = { 'x-api-key': made.secret }
  expect((await access.authenticate(headers)).account.email).toBe('someone@example.org')
  access.clock.advance(1_000)
  await access.authenticate(headers)
  await outside.keys.revokeByName(account.id, 'outside')
  outside.close()
  expect((await access.authenticate(headers)).credential.name).toBe('outside')
  access.clock.advance(1_000)
  expect((await failure(() => access.authenticate(headers))).code).toBe('INVALID_API_KEY')
})

describe('keys of an account', () => {
  test('are limited by the plan to 100, for every caller', async () => {
    for (let i = 0; i < 99; i++) await access.keys.create(account.id, { name: `k${i}`, scopes: ['files:read'] })
    const minter = await signIn({ name: 'minter', scopes: SCOPES, expiresInDays: 1 })
    const refusal = { code: 'QUOTA_EXCEEDED', message: expect.stringContaining('100 live API keys') }
    expect(await failure(() => access.keys.create(account.id, { name: 'more' }))).toMatchObject(refusal)
    expect(await failure(() => access.keys.generate(minter, { name: 'more', expiresInDays: 1 }))).toMatchObject(refusal)
    expect(await failure(() => access.keys.generate(session(), { name: 'more' }))).toMatchObject(refusal)
    await access.keys.adopt(account.id, 'bootstrap', 'a secret chosen by whoever runs it')
    await access.keys.revokeByName(account.id, 'k0')
    await access.keys.revokeByName(account.id, 'k1')
    await access.keys.create(account.id, { name: 'more' })
    access.clock.advance(DAY)
    await access.keys.create(account.id, { name: 'instead of the expired one' })
  })

  test('are limited on every plan without maxKeys null', () => {
    const plans = new PlanCatalogue({ lifted: planOf({ maxKeys: null }), few: planOf({ maxKeys: 2 }) })
    const caps = plans.names().map(name => [name, plans.get(name).maxKeys])
    expect(Object.fromEntries(caps)).toEqual({ free: 100, premium: 100, unlimited: 100, lifted: null, few: 2 })
    const { maxKeys: _, ...silent } = planOf()
    expect(new PlanCatalogue(parseConfig({ plans: { silent } }, '').plans).get('silent').maxKeys).toBe(100)
  })

  test('are revoked with their parent, and remain when it is rotated', async () => {
    const secret = 'a secret chosen by whoever runs it'
    await access.keys.adopt(account.id, 'bootstrap', secret)
    const bootstrap = await access.authenticate({ 'x-api-key': secret })
    const child = await access.keys.generate(bootstrap, { name: 'child', scopes: SCOPES })
    const asChild = await access.authenticate({ 'x-api-key': child.secret })
    const grandchild = await access.keys.generate(asChild, { name: 'grandchild' })
    await access.authenticate({ 'x-api-key': grandchild.secret })
    const parents = (await access.keys.list(account.id)).map(({ name, parent }) => [name, parent])
    expect(parents).toEqual([
      ['bootstrap', null],
      ['child', 'bootstrap'],
      ['grandchild', 'child'],
    ])
    await access.keys.adopt(account.id, 'bootstrap', secret.toUpperCase())
    await access.authenticate({ 'x-api-key': grandchild.secret })
    expect((await failure(() => access.authenticate({ 'x-api-key': secret }))).code).toBe('INVALID_API_KEY')
    await access.keys.revoke(session(), 'child')
    for (const gone of [child.secret, grandchild.secret]) {
      expect((await failure(() => access.authenticate({ 'x-api-key': gone }))).code).toBe('INVALID_API_KEY')
    }
    expect(await failure(() => access.keys.generate(asChild, { name: 'too late' }))).toMatchObject({
      code: 'INVALID_API_KEY',
    })
    expect((await access.keys.list(account.id)).map(({ name }) => name)).toEqual(['bootstrap'])
  })

  test('are listed in pages of a thousand', async () => {
    access.fillKeys(account.id, 2_500)
    expect(await access.keys.list(account.id)).toHaveLength(1_000)
    const sizes: number[] = []
    const names = new Set<string>()
    for await (const page of access.keys.pages(account.id)) {
      sizes.push(page.length)
      for (const { name } of page) names.add(name)
    }
    expect([sizes, names.size]).toEqual([[1_000, 1_000, 500], 2_500])
  })
})
