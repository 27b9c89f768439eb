import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sqliteAccess } from '../../src/catalogue/sqlite/sqlite-access.ts'
import { Database } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { RepeatingDatabase } from '../support/repeating-database.ts'
import { accessRules } from './access-rules.ts'
import { type AccessCatalogue, memoryAccess } from './memory-access.ts'

describe.each([
  ['the access stores in SQLite', Database],
  ['the access stores in SQLite, each write done again', RepeatingDatabase],
])('%s', (_, DatabaseClass) => {
  let directory: string
  let db: Database
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-catalogue-'))
    db = new DatabaseClass(join(directory, 'holdfast.db'))
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

/** Implementations that are wrong in one thing each, and words of the rules that find it out. */
const wrong: ReadonlyArray<[what: string, broken: (right: AccessCatalogue) => AccessCatalogue, rules: RegExp[]]> = [
  [
    'says yes to a code twice',
    right => ({ ...right, secondFactors: { ...right.secondFactors, useStep: async () => true } }),
    [/^no code is good twice/, /^a second factor counts/],
  ],
  [
    'answers a recovery code twice',
    right => ({ ...right, secondFactors: { ...right.secondFactors, useRecoveryCode: async () => true } }),
    [/^no code is good twice/],
  ],
  [
    'forgets a change that it has acknowledged',
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
    [/^what is left out of a change/, /^there is always an owner/],
  ],
  [
    'takes upload tokens for keys like all others',
    right => ({
      ...right,
      keys: { ...right.keys, insert: (key, limits) => right.keys.insert({ ...key, upload: null }, limits) },
    }),
    [/^upload tokens are listed/],
  ],
  [
    'looks first and writes later',
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
    [/^an account has at most so many/],
  ],
  [
    'revokes a key alone',
    right => ({
      ...right,
      keys: {
        ...right.keys,
        insert: (key, limits) => right.keys.insert({ ...key, parentId: null }, limits),
      },
    }),
    [/^a revoked key takes with it/, /^a key mints nothing/],
  ],
  [
    'forgets to end sessions with the password',
    right => ({
      ...right,
      accounts: {
        ...right.accounts,
        setPassword: async (id, hash) =>
          right.accounts.replacePassword(id, (await right.accounts.passwordHash(id)) ?? '', hash),
      },
    }),
    [/^another password ends/],
  ],
  [
    'lets a session begin unchecked',
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
    [/^a session begins only/],
  ],
  [
    'shows the first page again',
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
    [/^lists are paged/],
  ],
  [
    'forgets an account while something of it is left',
    right => ({ ...right, accounts: { ...right.accounts, forget: async () => true } }),
    [/^a deleted account/],
  ],
  [
    'tells emails apart by their case',
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
    [/^an account is found/],
  ],
  [
    'looks whether an email is taken, and writes later',
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
    [/^of accounts made at once/],
  ],
  [
    'says that a session has ended, whether there was one or not',
    right => ({
      ...right,
      sessions: { ...right.sessions, end: id => right.sessions.end(id).then(() => true) },
    }),
    [/^sessions are listed/],
  ],
  [
    'keeps however many sessions there are',
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
    [/^whoever signs in more often/],
  ],
  [
    'finds keys by their names in any account',
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
    [/^a key is found/],
  ],
  [
    'has an expired key take its name for ever',
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
    [/^a live name is taken/],
  ],
  [
    'shows no key that has expired',
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
    [/^expired keys are kept/],
  ],
  [
    'keeps a second account with the id of another',
    right => ({
      ...right,
      accounts: {
        ...right.accounts,
        insert: (account, hash) => right.accounts.insert(account, hash).catch(() => 'inserted' as const),
      },
    }),
    [/^an id that is taken/, /^text with U\+0000/],
  ],
  [
    'begins with another secret whatever is enabled',
    right => ({
      ...right,
      secondFactors: { ...right.secondFactors, begin: async () => 'begun' },
    }),
    [/^of a new secret/],
  ],
  [
    'makes another key of an adopted secret',
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
    [/^an adopted secret/],
  ],
]

describe('the rules find out a store that', () => {
  const found = new Set<string>()
  test.each(wrong)('%s', async (_, broken, rules) => {
    const failed: string[] = []
    for (const { name, run } of accessRules) {
      await run(broken(memoryAccess())).catch(() => failed.push(name))
    }
    for (const rule of rules) {
      const isFound = failed.some(name => rule.test(name))
      expect(isFound, `${rule} in ${failed.join('; ')}`).toBe(true)
      for (const name of failed) if (rule.test(name)) found.add(name)
    }
  })

  test('is wrong in each of them', () => {
    expect(accessRules.map(({ name }) => name).filter(name => !found.has(name))).toEqual([])
  })
})
