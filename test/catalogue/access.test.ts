import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DueIdentity } from '../../src/catalogue/index.ts'
import { sqliteAccess } from '../../src/catalogue/sqlite/sqlite-access.ts'
import { Database } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { newDatabase } from '../support/new-database.ts'
import { RepeatingDatabase } from '../support/repeating-database.ts'
import { accessRules } from './access-rules.ts'
import { type AccessCatalogue, memoryAccess } from './memory-access.ts'

describe.each([
  ['the access stores in SQLite', Database],
  ['the access stores in SQLite, with every write repeated', RepeatingDatabase],
])('%s', (_, DatabaseClass) => {
  let directory: string
  let db: Database
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-catalogue-'))
    db = newDatabase(directory, DatabaseClass)
  })
  afterEach(() => {
    db.close()
    rmSync(directory, { recursive: true })
  })

  test.each(accessRules)('$name', async ({ run }) => {
    await run(sqliteAccess(db, new WriteQueue(db)))
  })
})

describe('the access stores in memory', () => {
  test.each(accessRules)('$name', async ({ run }) => {
    await run(memoryAccess())
  })
})

/** Implementations with one fault each, and the rules that must detect it. */
const wrong: ReadonlyArray<[what: string, broken: (right: AccessCatalogue) => AccessCatalogue, rules: RegExp[]]> = [
  [
    'accepts a code twice',
    right => ({ ...right, secondFactors: { ...right.secondFactors, useStep: async () => true } }),
    [/^refuses a used/, /^enables a second/],
  ],
  [
    'accepts a recovery code twice',
    right => ({ ...right, secondFactors: { ...right.secondFactors, useRecoveryCode: async () => true } }),
    [/^refuses a used/],
  ],
  [
    'acknowledges a change without storing it',
    right => ({
      ...right,
      accounts: {
        ...right.accounts,
        change: async (id, changes) => {
          const account = await right.accounts.get(id)
          return account === null ? 'no_account' : { ...account, ...changes }
        },
      },
    }),
    [/^changes only the/, /^always keeps one/],
  ],
  [
    'treats upload tokens as ordinary keys',
    right => ({
      ...right,
      keys: { ...right.keys, insert: (key, limits) => right.keys.insert({ ...key, upload: null }, limits) },
    }),
    [/^lists, counts and/],
  ],
  [
    'checks the limit outside the transaction',
    right => ({
      ...right,
      keys: {
        ...right.keys,
        insert: async (key, limits) => {
          const { rows } = await right.keys.list(key.accountId, { after: null, limit: 1_000 })
          const live = rows.filter(({ expiresAt }) => expiresAt === null || expiresAt > limits.now)
          if (limits.maxKeys !== null && live.length >= limits.maxKeys) return 'too_many'
          return right.keys.insert(key, { ...limits, maxKeys: null })
        },
      },
    }),
    [/^limits live keys/],
  ],
  [
    'revokes a key without its child keys',
    right => ({
      ...right,
      keys: {
        ...right.keys,
        insert: (key, limits) => right.keys.insert({ ...key, parentId: null }, limits),
      },
    }),
    [/^revokes a key/, /^creates no key/],
  ],
  [
    'leaves sessions open after a new password',
    right => ({
      ...right,
      accounts: {
        ...right.accounts,
        setPassword: async (id, hash) =>
          right.accounts.replacePassword(id, (await right.accounts.passwordHash(id)) ?? '', hash),
      },
    }),
    [/^ends all other/],
  ],
  [
    'keeps a used password link',
    right => ({
      ...right,
      accounts: {
        ...right.accounts,
        usePasswordLink: async (hash, passwordHash, now) => {
          const used = await right.accounts.usePasswordLink(hash, passwordHash, now)
          if (used !== null) await right.accounts.putPasswordLink({ accountId: used.id, hash, expiresAt: now + 1_000 })
          return used
        },
      },
    }),
    [/^sets a password with/],
  ],
  [
    'accepts a password link of a disabled account',
    right => ({
      ...right,
      accounts: {
        ...right.accounts,
        usePasswordLink: async (hash, passwordHash, now) => {
          await right.accounts.change('one', { disabled: false })
          return right.accounts.usePasswordLink(hash, passwordHash, now)
        },
      },
    }),
    [/^refuses a password link/],
  ],
  [
    'finds the account of an identity by its email',
    right => ({
      ...right,
      identities: {
        ...right.identities,
        confirm: async (identity, fresh, now, refresh) =>
          (await right.accounts.findByEmail(fresh.email)) ?? right.identities.confirm(identity, fresh, now, refresh),
      },
    }),
    [/^finds the account of an identity/],
  ],
  [
    'gives a taken identity to another account',
    right => ({
      ...right,
      accounts: {
        ...right.accounts,
        setIdentity: async (id, identity) => {
          const outcome = await right.accounts.setIdentity(id, identity)
          return outcome === 'taken' ? ((await right.accounts.get(id)) ?? outcome) : outcome
        },
      },
    }),
    [/^gives an identity to an account that exists/],
  ],
  [
    'gives an identity that is due to every caller',
    right => ({
      ...right,
      identities: { ...right.identities, takeDue: (now, _, limit) => right.identities.takeDue(now, now, limit) },
    }),
    [/^gives an identity that is due/],
  ],
  [
    'settles a refresh with any token',
    right => {
      let last: DueIdentity | undefined
      return {
        ...right,
        identities: {
          ...right.identities,
          takeDue: async (...given) => {
            const taken = await right.identities.takeDue(...given)
            last = taken[0] ?? last
            return taken
          },
          refreshed: (due, ...rest) => right.identities.refreshed(last ?? due, ...rest).then(() => true),
        },
      }
    },
    [/^settles a refresh/],
  ],
  [
    'keeps the plan of an identity that was confirmed long ago',
    right => ({ ...right, identities: { ...right.identities, lapse: async () => 0 } }),
    [/^ends the plan of an identity/],
  ],
  [
    'begins a session without checking the password',
    right => ({
      ...right,
      sessions: {
        ...right.sessions,
        begin: async (session, { now }) => {
          const passwordHash = (await right.accounts.passwordHash(session.accountId)) ?? ''
          return right.sessions.begin(session, { now, passwordHash })
        },
      },
    }),
    [/^begins a session/],
  ],
  [
    'returns the first page again',
    right => ({
      ...right,
      keys: {
        ...right.keys,
        list: async (accountId, { limit }) => {
          const { rows } = await right.keys.list(accountId, { after: null, limit })
          return { rows, next: null }
        },
      },
    }),
    [/^pages lists oldest/],
  ],
  [
    'removes an account before its keys and sessions',
    right => ({ ...right, accounts: { ...right.accounts, forget: async () => true } }),
    [/^hides a deleted/],
  ],
  [
    'compares emails with case',
    right => ({
      ...right,
      accounts: {
        ...right.accounts,
        findByEmail: async email => {
          const account = await right.accounts.findByEmail(email)
          return account?.email === email ? account : null
        },
      },
    }),
    [/^finds an account/],
  ],
  [
    'checks the email outside the transaction',
    right => {
      let asked = 0
      return {
        ...right,
        accounts: {
          ...right.accounts,
          insert: async (account, hash) => {
            if ((await right.accounts.findByEmail(account.email)) !== null) return 'email_taken'
            return right.accounts.insert({ ...account, email: `${account.email}${asked++}` }, hash)
          },
        },
      }
    },
    [/^gives an email/],
  ],
  [
    'takes a proof for every session',
    right => ({
      ...right,
      sessions: {
        ...right.sessions,
        prove: async () => undefined,
        get: async id => {
          const session = await right.sessions.get(id)
          return session && { ...session, provedAt: session.createdAt }
        },
      },
    }),
    [/^stores proofs of kept sessions/],
  ],
  [
    'takes the proof of one key for all',
    right => {
      let last: number | null = null
      return {
        ...right,
        keys: {
          ...right.keys,
          prove: async (_, at) => {
            last = at
          },
          provedAt: async id => last ?? right.keys.provedAt(id),
        },
      }
    },
    [/^stores proofs of keys/],
  ],
  [
    'takes every user of a provider for one account',
    right => ({ ...right, identities: { ...right.identities, accountOf: async () => 'one' } }),
    [/^finds the account of an identity/],
  ],
  [
    'reports the end of a session that does not exist',
    right => ({
      ...right,
      sessions: { ...right.sessions, end: id => right.sessions.end(id).then(() => true) },
    }),
    [/^lists sessions until/],
  ],
  [
    'keeps any number of sessions',
    right => {
      const begun: Parameters<typeof right.sessions.begin>[0][] = []
      return {
        ...right,
        sessions: {
          ...right.sessions,
          begin: (session, check) => {
            begun.push(session)
            return right.sessions.begin(session, check)
          },
          list: async (accountId, now, request) => {
            const { rows, next } = await right.sessions.list(accountId, now, request)
            const first = begun.find(session => session.accountId === accountId)
            const isKept = next === null && first !== undefined
            return { rows: isKept ? [first, ...rows] : rows, next }
          },
        },
      }
    },
    [/^drops the oldest/],
  ],
  [
    'finds keys by name in every account',
    right => ({
      ...right,
      keys: {
        ...right.keys,
        findByName: async (accountId, name) => {
          const own = await right.keys.findByName(accountId, name)
          return own ?? right.keys.findByName('one', name)
        },
      },
    }),
    [/^finds a key/],
  ],
  [
    'reserves the name of an expired key',
    right => ({
      ...right,
      keys: {
        ...right.keys,
        insert: async (key, limits) => {
          if ((await right.keys.findByName(key.accountId, key.name)) !== null) return 'name_taken'
          return right.keys.insert(key, limits)
        },
      },
    }),
    [/^refuses the name/],
  ],
  [
    'ends one sign-in of a key',
    right => ({ ...right, keys: { ...right.keys, revokeConsole: async () => 1 } }),
    [/^counts the console keys/],
  ],
  [
    'hides expired keys',
    right => ({
      ...right,
      keys: {
        ...right.keys,
        list: async (...request) => {
          const { rows, next } = await right.keys.list(...request)
          return { rows: rows.filter(({ expiresAt }) => expiresAt === null), next }
        },
      },
    }),
    [/^keeps a limited/],
  ],
  [
    'accepts a duplicate id',
    right => ({
      ...right,
      accounts: {
        ...right.accounts,
        insert: (account, hash) => right.accounts.insert(account, hash).catch(() => 'inserted' as const),
      },
    }),
    [/^refuses a duplicate/, /^finds nothing for/],
  ],
  [
    'replaces the secret of an enabled second factor',
    right => ({
      ...right,
      secondFactors: { ...right.secondFactors, begin: async () => 'begun' },
    }),
    [/^lets only one/],
  ],
  [
    'creates a second key for an adopted secret',
    right => ({
      ...right,
      keys: {
        ...right.keys,
        adopt: async key => {
          const former = await right.keys.findByName(key.accountId, key.name)
          if (former !== null) await right.keys.revoke(former.id)
          return right.keys.adopt(key)
        },
      },
    }),
    [/^adopts a new/],
  ],
]

describe('the rules detect a store that', () => {
  const found = new Set<string>()
  test.each(wrong)('%s', async (_, broken, rules) => {
    const failed: string[] = []
    for (const { name, run } of accessRules.filter(({ name }) => rules.some(rule => rule.test(name)))) {
      await run(broken(memoryAccess())).catch(() => failed.push(name))
    }
    for (const rule of rules) {
      const isFound = failed.some(name => rule.test(name))
      expect(isFound, `${rule} in ${failed.join('; ')}`).toBe(true)
    }
    for (const name of failed) found.add(name)
  })

  test('breaks each rule', () => {
    expect(accessRules.map(({ name }) => name).filter(name => !found.has(name))).toEqual([])
  })
})
