import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextRound } from 'node:timers/promises'
import { promisify } from 'node:util'
import SqliteDatabase from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Database } from '../../src/storage/database.ts'
import { needs } from '../support/needs.ts'

/** Byte of the header of a database that tells if it has a log beside it: 1 if not. */
const FORMAT_BYTE = 18
const CHILD = join(import.meta.dirname, '..', 'support', 'copying-child.ts')
const canTrace = spawnSync('strace', ['-f', '-e', 'trace=fsync', 'true']).status === 0

let dir: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-database-copy-'))
})

afterEach(() => rm(dir, { recursive: true, force: true }))

describe('a copy of a database', () => {
  let database: Database
  let copy: string

  beforeEach(() => {
    database = new Database(join(dir, 'source.db'))
    copy = join(dir, 'copy.db')
    database.prepare('CREATE TABLE rows (id INTEGER PRIMARY KEY, bytes BLOB)').run()
    database
      .prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
        INSERT INTO rows SELECT i, randomblob(40000) FROM n`)
      .run()
  })
  afterEach(() => database.close())

  test('has no commit made after its first page', async () => {
    const insert = database.prepare<[number], unknown>('INSERT INTO rows VALUES (?, randomblob(100))')
    let written = 500
    /** Number of rows when the copy had its first page. */
    let begun = 0
    // On a busy machine, no commit may fall within a copy.
    do {
      begun = 0
      let isCopied = false
      await rm(copy, { force: true })
      const copying = database.copyTo(copy).then(() => {
        isCopied = true
      })
      while (!isCopied) {
        insert.run(++written)
        if (begun === 0 && existsSync(copy) && statSync(copy).size > 0) begun = written
        await nextRound()
      }
      await copying
    } while (begun === 0 || begun === written)
    const copied = new SqliteDatabase(copy, { readonly: true })
    const { rows } = copied.prepare<[], { rows: number }>('SELECT MAX(id) AS rows FROM rows').get() ?? { rows: 0 }
    expect(copied.pragma('integrity_check', { simple: true })).toBe('ok')
    copied.close()
    expect(rows).toBeGreaterThanOrEqual(500)
    expect(rows).toBeLessThanOrEqual(begun)
    expect([readFileSync(copy)[FORMAT_BYTE], existsSync(`${copy}-wal`)]).toEqual([1, false])
  })

  test('stops with its signal', async () => {
    const stop = new AbortController()
    const copying = database.copyTo(copy, stop.signal)
    stop.abort(new Error('no longer wanted'))
    await expect(copying).rejects.toThrow('no longer wanted')
  })

  test('reports what went wrong in its thread', async () => {
    await expect(database.copyTo(join(dir, 'nowhere', 'copy.db'))).rejects.toMatchObject({ code: 'ENOENT' })
    await rm(join(dir, 'source.db'))
    await expect(database.copyTo(copy)).rejects.toMatchObject({ code: 'SQLITE_CANTOPEN' })
  })
})

test('a copy of a database is written and synced by a thread', {
  ...needs(canTrace, 'there is no strace, or it may not trace'),
  timeout: 60_000,
}, async () => {
  const [output, copy] = [join(dir, 'calls'), join(dir, 'copy.db')]
  const traced = ['-f', '-y', '-o', output, '-e', 'trace=execve,write,pwrite64,fsync,fdatasync']
  await promisify(execFile)('strace', [...traced, process.execPath, CHILD, join(dir, 'source.db'), copy])
  const lines = (await readFile(output, 'utf8')).split('\n')
  const main = lines[0]?.split(' ')[0]
  const calls = lines.filter(line => line.includes(`<${copy}>`)).map(line => /^(\d+) +(\w+)\(/.exec(line))
  const names = calls.map(call => call?.[2] ?? '')
  expect(calls.map(call => call?.[1])).not.toContain(main)
  expect(names.findLastIndex(name => name.endsWith('sync'))).toBeGreaterThan(
    names.findLastIndex(name => name.includes('write')),
  )
  expect(names).toContain('pwrite64')
})
