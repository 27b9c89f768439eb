import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEngine } from '../../src/index.ts'
import { Database } from '../../src/storage/database.ts'
import { createTestEngine, TestClock } from '../../src/testing/index.ts'
import { newDirectory } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'

/** Returns the schema and pragmas of a data directory's database. */
function schemaOf(dataDir: string): unknown[] {
  const database = new Database(join(dataDir, 'holdfast.db'))
  const rows = database.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all()
  const pragmas = ['user_version', 'auto_vacuum', 'journal_mode', 'page_size'].map(name =>
    database.prepare(`PRAGMA ${name}`).get(),
  )
  const identity = database.prepare<[], { id: string }>('SELECT id FROM node_identity').get()?.id
  database.close()
  return [rows, pragmas, identity]
}

describe('createTestEngine', () => {
  test('has the same database as any engine, and its own identity', async () => {
    await withTempDir(async dataDir => {
      await using plain = await createEngine({ dataDir: newDirectory(dataDir) })
      await using one = await createTestEngine()
      await using two = await createTestEngine()
      const [ofPlain, ofOne, ofTwo] = [plain, one, two].map(({ dataDir }) => schemaOf(dataDir)) as [
        unknown[],
        unknown[],
        unknown[],
      ]
      expect(ofOne.slice(0, 2)).toEqual(ofPlain.slice(0, 2))
      expect(new Set([ofPlain[2], ofOne[2], ofTwo[2]]).size).toBe(3)
    })
  })

  test('starts engines that share nothing, and deletes their directories', async () => {
    let directory = ''
    {
      await using one = await createTestEngine()
      await using two = await createTestEngine()
      directory = one.dataDir
      expect(existsSync(directory)).toBe(true)
      const { record } = await one.pins.upload('hello')
      expect(record.status).toBe('pinned')
      expect((await two.pins.list()).total).toBe(0)
      await expect(one.helia()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    }
    expect(existsSync(directory)).toBe(false)
  })

  test('stands at the present until the test moves its clock', async () => {
    await using engine = await createTestEngine()
    expect(Math.abs(engine.clock.now() - Date.now())).toBeLessThan(60_000)
    const { record } = await engine.pins.upload('gone soon', { timelock: new Date(engine.clock.now() + 60_000) })
    const removed = engine.events.once('pin:removed')
    engine.clock.advance(60_000)
    expect((await removed).record.uploadId).toBe(record.uploadId)
    expect((await engine.pins.list()).total).toBe(0)
  })

  test('keeps a directory that the test names, and continues with it', async () => {
    await withTempDir(async parent => {
      const dataDir = join(parent, 'data')
      const clock = new TestClock('2030-01-01T00:00:00Z')
      const first = await createTestEngine({ dataDir, clock })
      await first.pins.upload('kept')
      await first.stop()
      expect(existsSync(dataDir)).toBe(true)
      await using again = await createTestEngine({ dataDir, clock })
      expect((await again.pins.list()).items.map(({ createdAt }) => createdAt)).toEqual([clock.now()])
    })
  })

  test('leaves nothing behind if a start fails', async () => {
    await expect(createTestEngine({ defaultCluster: 'none' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(createTestEngine({ datadir: 'x' } as object)).rejects.toThrow('did you mean dataDir?')
  })
})
