import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { expect, test } from 'vitest'
import { Database } from '../../src/storage/database.ts'
import { keptCopyOf } from '../../src/storage/kept-copy.ts'
import { migrations } from '../../src/storage/migrations.ts'
import { addSearchFunctions } from '../../src/storage/search-function.ts'
import { filesIn, withTempDir } from '../support/temp-dir.ts'

const CHILD = join(import.meta.dirname, '..', 'support', 'migrating-child.ts')
const OLD = migrations.length - 3

/** Writes a database of an older schema with one account. */
function writeOldDatabase(file: string, email: string, version = 1): void {
  const sqlite = new SqliteDatabase(file)
  addSearchFunctions(sqlite)
  for (const sql of migrations.slice(0, version)) sqlite.exec(sql)
  sqlite.pragma(`user_version = ${version}`)
  sqlite.close()
  addAccount(file, email)
}

/** Writes an account, as a restarted older version does. */
function addAccount(file: string, email: string): void {
  const sqlite = new SqliteDatabase(file)
  sqlite.pragma('journal_mode = WAL')
  const insert = `INSERT INTO accounts (id, email, plan, role, created_at) VALUES (?, ?, 'free', 'user', 0)`
  sqlite.prepare(insert).run(email, email)
  sqlite.close()
}

/** Returns the emails in a database, sorted, and its schema. */
function look(file: string): { emails: unknown[]; version: unknown } {
  const sqlite = new SqliteDatabase(file, { readonly: true })
  const emails = sqlite.prepare('SELECT email FROM accounts ORDER BY email').pluck().all()
  const version = sqlite.pragma('user_version', { simple: true })
  sqlite.close()
  return { emails, version }
}

test('a migration keeps a copy of the database with mode 0600', async () => {
  await withTempDir(async dir => {
    const file = join(dir, 'holdfast.db')
    writeOldDatabase(file, 'ada@example.org')
    new Database(file).close()
    const copy = keptCopyOf(file, 1)
    expect(statSync(copy).mode & 0o777).toBe(0o600)
    expect(look(copy)).toEqual({ emails: ['ada@example.org'], version: 1 })
    expect((await filesIn(dir)).filter(name => name.includes('.schema-1.'))).toEqual([])
  })
})

test('a new database leaves no copy', async () => {
  await withTempDir(async dir => {
    new Database(join(dir, 'holdfast.db')).close()
    expect(await filesIn(dir)).toEqual(['holdfast.db'])
  })
})

test('the copy has later writes of an older version, after a kill', async () => {
  await withTempDir(async dir => {
    let steps: string[] = []
    for (let survived = 0; ; survived++) {
      const file = join(dir, `${survived}.db`)
      writeOldDatabase(file, 'a@example.org', OLD)
      const child = spawnSync(process.execPath, [CHILD, file, String(survived)], { encoding: 'utf8' })
      steps = child.stdout.trim().split('\n')
      if (child.signal === null) break
      expect(child.signal).toBe('SIGKILL')
      const isOld = look(file).version === OLD
      // An existing copy is whole at every step.
      const copy = keptCopyOf(file, OLD)
      if (existsSync(copy)) expect(look(copy)).toEqual({ emails: ['a@example.org'], version: OLD })
      if (isOld) addAccount(file, 'b@example.org')
      const emails = isOld ? ['a@example.org', 'b@example.org'] : ['a@example.org']
      new Database(file).close()
      expect([survived, look(file), look(copy)]).toEqual([
        survived,
        { emails, version: migrations.length },
        { emails, version: OLD },
      ])
    }
    const migrated = ['exec', 'exec', 'exec', 'user_version', 'open']
    expect(steps).toEqual(['rm', 'VACUUM', 'fsync', 'rename', 'fsync', ...migrated])
  })
})

test('the copy has writes made between it and the migration', async () => {
  await withTempDir(async dir => {
    const file = join(dir, 'holdfast.db')
    writeOldDatabase(file, 'a@example.org', OLD)
    const { transaction } = SqliteDatabase.prototype
    const patched = SqliteDatabase.prototype as { transaction: unknown }
    try {
      // The migration is the first transaction.
      patched.transaction = function (this: SqliteDatabase.Database, work: () => unknown) {
        patched.transaction = transaction
        addAccount(file, 'b@example.org')
        return transaction.call(this, work)
      }
      new Database(file).close()
    } finally {
      patched.transaction = transaction
    }
    expect(look(keptCopyOf(file, OLD)).emails).toEqual(['a@example.org', 'b@example.org'])
  })
})
