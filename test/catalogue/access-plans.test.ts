import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sqliteAccess } from '../../src/catalogue/sqlite/access-catalogue.ts'
import { Database } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'

/** Statements that go through a table or an index from one end, by their beginning, and why they may. */
const SCANS: ReadonlyArray<[statement: RegExp, scan: RegExp, why: string]> = [
  [/^SELECT .* role = 'owner'/, /^SCAN accounts USING INDEX accounts_owners$/, 'there are few owners'],
  [/LIMIT \? OFFSET \?$/, /^SCAN accounts USING INDEX accounts_by_age$/, 'a numbered page, read from the nearer end'],
  [/^SELECT COUNT\(\*\) AS count FROM accounts/, /^SCAN accounts USING INDEX accounts_by_age$/, 'for the owner alone'],
  [/ sealed = 0$/, /^SCAN second_factors USING INDEX second_factors_in_clear$/, 'once, at a start'],
  [
    /^(SELECT account_id AS accountId, secret, .*|DELETE FROM) FROM second_factors$|^DELETE FROM second_factors$/,
    /^SCAN second_factors$/,
    'once, at a start',
  ],
  [/^SELECT COUNT\(\*\) AS count FROM \(/, /^SCAN \(subquery-1\)$/, 'the rows of its own LIMIT'],
  [/^WITH RECURSIVE minted/, /^SCAN minted$/, 'the keys that it removes'],
]

let directory: string
let db: Database
const statements = new Set<string>()

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-plans-'))
  db = new Database(join(directory, 'holdfast.db'))
  const recorder = {
    prepare: (sql: string) => {
      statements.add(sql.trim().replaceAll(/\s+/g, ' '))
      return db.prepare(sql)
    },
  }
  sqliteAccess(recorder as Database, new WriteQueue(db))
})
afterAll(() => {
  db.close()
  rmSync(directory, { recursive: true })
})

test('every statement of the access stores finds its rows by an index, or says why not', () => {
  expect(statements.size).toBeGreaterThan(40)
  const used = new Set<RegExp>()
  for (const sql of statements) {
    const parameters = Array(sql.split('?').length - 1).fill(null)
    const plan = db.prepare<null[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters)
    for (const { detail } of plan) {
      expect(detail, sql).not.toContain('TEMP B-TREE')
      expect(detail, sql).not.toContain('AUTOMATIC')
      if (!detail.startsWith('SCAN')) continue
      const reason = SCANS.find(([statement, scan]) => statement.test(sql) && scan.test(detail))
      expect(reason, `${sql}: ${detail}`).toBeDefined()
      if (reason !== undefined) used.add(reason[0])
    }
  }
  expect(used.size).toBe(SCANS.length)
})

test.each([
  [
    'api_keys by account',
    /FROM api_keys k .*k\.account_id = \? AND \(k\.created_at/,
    'api_keys_by_age (account_id=? AND created_at>?)',
  ],
  [
    'live keys',
    /SELECT 1 FROM api_keys WHERE account_id = \? AND expires_at > \?/,
    'api_keys_by_expiry (account_id=? AND expires_at>?)',
  ],
  ['expired sessions', /FROM sessions WHERE expires_at <= \?/, 'sessions_by_expiry (expires_at<?)'],
  [
    'sessions by account',
    /FROM sessions WHERE account_id = \? AND \(created_at/,
    'sessions_by_account (account_id=? AND created_at>?)',
  ],
  ['minted keys', /^WITH RECURSIVE minted/, 'api_keys_by_parent (parent_id=?)'],
  ['pages of accounts', /FROM accounts WHERE deleted_at IS NULL AND \(created_at/, 'accounts_by_age (created_at>?)'],
])('%s are found by their own index', (_, statement, index) => {
  const sql = [...statements].find(text => statement.test(text)) ?? ''
  const parameters = Array(sql.split('?').length - 1).fill(null)
  const plan = db.prepare<null[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters)
  expect(plan.map(({ detail }) => detail).join('\n')).toContain(index)
})
