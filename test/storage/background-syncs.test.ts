import { readFileSync } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Database } from '../../src/storage/database.ts'

/** Byte of the header of a database that tells if it has a log beside it: 1 if not. */
const FORMAT_BYTE = 18

let dir: string
let database: Database
let handles: FileHandle

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-background-syncs-'))
  database = new Database(join(dir, 'source.db'))
  database.prepare('CREATE TABLE rows (id INTEGER PRIMARY KEY, bytes BLOB)').run()
  database
    .prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
      INSERT INTO rows SELECT i, randomblob(40000) FROM n`)
    .run()
  const one = await open(join(dir, 'source.db'), 'r')
  await one.close()
  handles = Object.getPrototypeOf(one) as FileHandle
})

afterEach(async () => {
  vi.restoreAllMocks()
  database.close()
  await rm(dir, { recursive: true, force: true })
})

test('a copy of a database is synced off the main thread', async () => {
  const copy = join(dir, 'copy.db')
  const formats: Array<number | undefined> = []
  const sync = handles.sync
  vi.spyOn(handles, 'sync').mockImplementation(function (this: FileHandle) {
    formats.push(readFileSync(copy)[FORMAT_BYTE])
    return sync.call(this)
  })
  await database.copyTo(copy)
  expect(formats.length).toBeGreaterThan(1)
  expect([formats[0] === 1, formats.at(-1)]).toEqual([false, 1])
})

test('a failed sync fails the copy', async () => {
  vi.spyOn(handles, 'sync').mockRejectedValueOnce(new Error('EIO'))
  await expect(database.copyTo(join(dir, 'copy.db'))).rejects.toThrow('EIO')
})
