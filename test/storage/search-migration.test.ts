import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { expect, test } from 'vitest'
import { createEngine } from '../../src/index.ts'
import { migrations } from '../../src/storage/migrations.ts'
import { searchSchema } from '../../src/storage/schema-search.ts'
import { searchBlocksSchema } from '../../src/storage/schema-search-blocks.ts'
import { addSearchFunctions } from '../../src/storage/search-function.ts'
import { withTempDir } from '../support/temp-dir.ts'

test('a migration indexes records in creation order, new ones last', async () => {
  await withTempDir(async dataDir => {
    const before = migrations.indexOf(searchSchema)
    const db = new SqliteDatabase(join(dataDir, 'holdfast.db'))
    for (const sql of migrations.slice(0, before)) db.exec(sql)
    db.pragma(`user_version = ${before}`)
    const account = db.prepare(
      "INSERT INTO accounts (id, email, plan, role, created_at, pins) VALUES (?, ?, 'unlimited', 'user', 0, 3)",
    )
    for (const id of ['one', 'two']) account.run(id, `${id}@example.org`)
    const insert = db.prepare(`
      INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, type, status, status_at, name, size,
        dag_size, created_at)
      VALUES (?, ?, 'cl0-global', 'cid', 85, randomblob(34), 'pin', 'failed', 0, ?, 0, 0, ?)`)
    for (const [id, owner, name, createdAt] of [
      ['c', 'one', 'Third needle', 30],
      ['a', 'one', 'first NEEDLE', 10],
      ['b', 'one', 'second', 20],
      ['x', 'two', 'needle of another', 15],
    ]) {
      insert.run(id, owner, name, createdAt)
    }
    db.close()
    await using engine = await createEngine({ dataDir })
    const found = async (query: object): Promise<(string | null)[]> =>
      (await engine.pins.list({ account: 'one', ...query })).items.map(({ name }) => name)
    expect(await found({ q: 'needle' })).toEqual(['Third needle', 'first NEEDLE'])
    expect(await found({ after: 10, sort: 'oldest' })).toEqual(['second', 'Third needle'])
    await engine.pins.upload('x', { account: 'one', name: 'a new needle' })
    expect(await found({ q: 'NEEDLE' })).toEqual(['a new needle', 'Third needle', 'first NEEDLE'])
    expect(await found({ status: 'failed', before: 30 })).toEqual(['second', 'first NEEDLE'])
  })
})

test('a migration leaves the words in one segment', () => {
  const db = new SqliteDatabase(':memory:')
  addSearchFunctions(db)
  const before = migrations.indexOf(searchBlocksSchema)
  for (const sql of migrations.slice(0, before)) db.exec(sql)
  db.exec(`
    INSERT INTO accounts (id, email, plan, role, created_at) VALUES ('one', 'one@example.org', 'unlimited', 'user', 0);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
    INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, type, status, status_at, name, size, dag_size,
      created_at, search_id)
    SELECT 'r' || i, 'one', 'cl0-global', 'cid', 85, randomblob(34), 'pin', 'failed', 0, 'file ' || i, 0, 0, i,
      4294967296 + i FROM n`)
  db.exec(searchBlocksSchema)
  expect(db.prepare('SELECT COUNT(DISTINCT segid) FROM record_search_idx').pluck().get()).toBe(1)
  expect(db.prepare('SELECT COUNT(*) FROM record_search').pluck().get()).toBe(10_000)
})
