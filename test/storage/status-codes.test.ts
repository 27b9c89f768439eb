import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import { expect, test } from 'vitest'
import { RecordTable } from '../../src/catalogue/sqlite/record-table.ts'
import { Database } from '../../src/storage/database.ts'
import { migrations } from '../../src/storage/migrations.ts'
import { withTempDir } from '../support/temp-dir.ts'

/** Reasons in the words of earlier versions, by the expected code. */
const REASONS: ReadonlyArray<[reason: string | null, code: string | null]> = [
  ['QUOTA_EXCEEDED: the content does not fit into the storage of the plan', 'QUOTA_EXCEEDED'],
  ['CID_NOT_FOUND: nobody has it (peer: failed)', 'CID_NOT_FOUND'],
  ['INCOMPLETE: the CAR lacked bafkqaaa', 'INCOMPLETE'],
  ['tried again', null],
  ['Tried again: later', null],
  ['NOTHING', null],
  [null, null],
]

test('old records get the codes at the start of their reasons', async () => {
  await withTempDir(async dir => {
    const file = join(dir, 'holdfast.db')
    const old = new SqliteDatabase(file)
    old.exec(migrations[0] ?? '')
    old.pragma('user_version = 1')
    const insert = old.prepare(`
      INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, type, status, status_at, status_reason,
        size, dag_size, created_at)
      VALUES (?, 'a', 'cl0', 'cid', 85, x'00', 'pin', 'failed', 0, ?, 0, 0, 0)`)
    for (const [index, [reason]] of REASONS.entries()) insert.run(`r${index}`, reason)
    old.close()
    const db = new Database(file)
    try {
      const records = new RecordTable(db)
      const read = REASONS.map((_, index) => records.get(`r${index}`))
      expect(read.map(row => [row?.statusReason, row?.statusCode])).toEqual(REASONS)
      records.setStatus('r0', 'queued', 1, null)
      expect(records.get('r0')).toMatchObject({ statusCode: null, statusReason: null })
      records.setStatus('r0', 'failed', 2, { code: 'BLOCK_DAMAGED', text: 'whatever is said' })
      expect(records.get('r0')).toMatchObject({ statusCode: 'BLOCK_DAMAGED', statusReason: 'whatever is said' })
    } finally {
      db.close()
    }
  })
})
