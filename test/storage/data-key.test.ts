import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEngine } from '../../src/index.ts'
import { openDataKey } from '../../src/storage/data-key.ts'
import { Database } from '../../src/storage/database.ts'
import { withTempDir } from '../support/temp-dir.ts'

const SECRET = Buffer.from('a secret')

/** Opens the key of a directory on a new connection, as each process does. */
function withKey<T>(dataDir: string, run: (sealing: ReturnType<typeof openDataKey>) => T): T {
  const database = new Database(join(dataDir, 'holdfast.db'))
  try {
    return run(openDataKey(database, dataDir))
  } finally {
    database.close()
  }
}

describe('the key of a data directory', () => {
  test('is created once with mode 0600, and opens earlier secrets after restarts', async () => {
    await withTempDir(async dir => {
      const sealed = withKey(dir, sealing => sealing.seal(SECRET, 'test'))
      const text = await readFile(join(dir, 'data.key'), 'utf8')
      expect((await stat(join(dir, 'data.key'))).mode & 0o777).toBe(0o600)
      expect(Buffer.from(withKey(dir, sealing => sealing.open(sealed, 'test'))).equals(SECRET)).toBe(true)
      expect(await readFile(join(dir, 'data.key'), 'utf8')).toBe(text)
      expect((await readFile(join(dir, 'holdfast.db'))).includes(text.trim())).toBe(false)
    })
  })

  test('is the same for two processes that create it at once', async () => {
    await withTempDir(async dir => {
      const sealed = withKey(dir, one => withKey(dir, two => two.open(one.seal(SECRET, 'test'), 'test')))
      expect(Buffer.from(sealed).equals(SECRET)).toBe(true)
    })
  })

  test('is used again if a power cut preceded its row', async () => {
    await withTempDir(async dir => {
      const sealed = withKey(dir, sealing => sealing.seal(SECRET, 'test'))
      for (const name of ['holdfast.db', 'holdfast.db-wal', 'holdfast.db-shm'])
        await rm(join(dir, name), { force: true })
      await writeFile(join(dir, 'data.key.new'), 'half of anoth')
      expect(Buffer.from(withKey(dir, sealing => sealing.open(sealed, 'test'))).equals(SECRET)).toBe(true)
    })
  })

  test.each<[string, (path: string) => Promise<unknown>, RegExp]>([
    ['missing', path => rename(path, `${path}.away`), /data\.key is missing.*backup/],
    ['that of another directory', path => writeFile(path, `${'A'.repeat(43)}\n`), /is not the key of this data dir/],
    ['empty', path => writeFile(path, ''), /is damaged/],
    ['cut short', path => writeFile(path, 'A'.repeat(42)), /is damaged/],
  ])('refuses the start when it is %s, and leaves everything unchanged', async (_, spoil, message) => {
    await withTempDir(async dataDir => {
      await (await createEngine({ dataDir })).stop()
      const path = join(dataDir, 'data.key')
      const kept = await readFile(path)
      await spoil(path)
      for (let tries = 0; tries < 2; tries++) {
        const start = createEngine({ dataDir })
        await expect(start).rejects.toMatchObject({
          code: 'DATA_DIR_UNUSABLE',
          message: expect.stringMatching(message),
        })
      }
      await writeFile(path, kept)
      await (await createEngine({ dataDir })).stop()
    })
  })

  test('seals nothing if it cannot be written', async () => {
    await withTempDir(async dir => {
      const database = new Database(join(dir, 'holdfast.db'))
      expect(() => openDataKey(database, join(dir, 'not there'))).toThrow(/cannot be written/)
      expect(database.prepare('SELECT id FROM data_key').all()).toEqual([])
      database.close()
    })
  })
})
