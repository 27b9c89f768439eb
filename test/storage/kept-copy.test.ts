import { statSync } from 'node:fs'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { expect, test } from 'vitest'
import { Database } from '../../src/storage/database.ts'
import { keptCopyOf } from '../../src/storage/kept-copy.ts'
import { migrations } from '../../src/storage/migrations.ts'
import { filesIn, withTempDir } from '../support/temp-dir.ts'

/** A database as the first schema left it, with one account. */
function writeOldDatabase(file: string, email: string): void {
  const sqlite = new SqliteDatabase(file)
  sqlite.exec(migrations[0] ?? '')
  sqlite.pragma('user_version = 1')
  sqlite.exec(`INSERT INTO accounts (id, email, plan, role, created_at) VALUES ('a', '${email}', 'free', 'user', 0)`)
  sqlite.close()
}

test('a database is kept as it was before it is migrated, for its owner only', async () => {
  await withTempDir(async dir => {
    const file = join(dir, 'holdfast.db')
    writeOldDatabase(file, 'ada@example.org')
    new Database(file).close()
    const copy = keptCopyOf(file, 1)
    expect(statSync(copy).mode & 0o777).toBe(0o600)
    const kept = new SqliteDatabase(copy, { readonly: true })
    expect(kept.pragma('user_version', { simple: true })).toBe(1)
    expect(kept.prepare('SELECT email FROM accounts').all()).toEqual([{ email: 'ada@example.org' }])
    kept.close()
    expect((await filesIn(dir)).filter(name => name.includes('.schema-1.'))).toEqual([])
  })
})

test('a new database leaves no copy, and an older copy is not written over', async () => {
  await withTempDir(async dir => {
    const file = join(dir, 'holdfast.db')
    new Database(file).close()
    expect(await filesIn(dir)).toEqual(['holdfast.db'])
    const other = join(dir, 'other.db')
    writeOldDatabase(keptCopyOf(other, 1), 'first@example.org')
    writeOldDatabase(other, 'second@example.org')
    new Database(other).close()
    const kept = new SqliteDatabase(keptCopyOf(other, 1), { readonly: true })
    expect(kept.prepare('SELECT email FROM accounts').all()).toEqual([{ email: 'first@example.org' }])
    kept.close()
  })
})
