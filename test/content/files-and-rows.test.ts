import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { blockFileOf } from '../support/block-place.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { rawCid } from '../support/content-parts.ts'
import { RecordingFiles } from '../support/recording-files.ts'
import { EMPTY, storeSizes, strayBlocks, withDatabase } from '../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

/** Number of collections that search every directory. */
const WHOLE_SCAN = 16

async function removed({ engine, account }: TestEngine, seed: string): Promise<string> {
  const { cid } = (await engine.pins.upload(pseudoRandom(50_000, seed), { account })).record
  await engine.pins.remove({ account, cid })
  return blockFileOf(CID.parse(cid))
}

async function strayFile(dataDir: string, seed: string): Promise<string> {
  const bytes = pseudoRandom(50_000, seed)
  const file = join(dataDir, 'blocks', blockFileOf(await rawCid(bytes)))
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, bytes)
  return file
}

describe('files and rows', () => {
  test.each(['EPERM', 'EIO', 'EBUSY'])('a file that cannot be removed (%s) delays nothing else', async code => {
    const files = new RecordingFiles()
    const run = async (test: TestEngine): Promise<void> => {
      const stuck = join(test.dataDir, 'blocks', await removed(test, 'stuck'))
      for (const seed of ['one', 'two', 'three']) await removed(test, seed)
      files.fail = (operation, path) => (operation === 'unlink' && path === stuck ? code : undefined)
      expect(await test.engine.collect({ graceSeconds: 0 })).toMatchObject({ blocks: 3, bytes: 150_000 })
      expect(await storeSizes(test.dataDir)).toEqual({ ...EMPTY, blocks: 1, blockFiles: 1 })
      const engine = await test.restart()
      expect((await engine.pins.upload(pseudoRandom(50_000, 'four'), { account: test.account })).created).toBe(true)
      await expect(engine.pins.upload(pseudoRandom(50_000, 'stuck'), { account: test.account })).rejects.toThrow()
      files.fail = () => undefined
      await engine.collect({ graceSeconds: 0 })
      expect(await strayBlocks(test.dataDir)).toEqual({ files: [], rows: [] })
      expect((await engine.pins.upload(pseudoRandom(50_000, 'stuck'), { account: test.account })).created).toBe(true)
    }
    await withEngine(run, { fileSystem: files })
  })

  test('a row stays while the removal of its file may be undone', async () => {
    const files = new RecordingFiles()
    const run = async (test: TestEngine): Promise<void> => {
      await removed(test, 'unsynced')
      files.fail = operation => (operation === 'syncDirectory' ? 'EIO' : undefined)
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual({ ...EMPTY, blocks: 1 })
      files.fail = () => undefined
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    }
    await withEngine(run, { fileSystem: files })
  })

  test('stray files are removed, a few directories at a time, others stay', async () => {
    const files = new RecordingFiles()
    let listed = 0
    const { list } = files
    files.list = path => {
      listed++
      return list.call(files, path)
    }
    const run = async (test: TestEngine): Promise<void> => {
      const { engine, account, dataDir } = test
      await engine.pins.upload(pseudoRandom(1_500_000, 'kept'), { account })
      for (let i = 0; i < 20; i++) await strayFile(dataDir, `stray ${i}`)
      await writeFile(join(dataDir, 'blocks', 'AA', 'notes.data'), 'of somebody')
      await mkdir(join(dataDir, 'blocks', 'lost+found'))
      for (let i = 0; i < WHOLE_SCAN; i++) {
        listed = 0
        await engine.collect({ graceSeconds: 0 })
        expect(listed).toBeLessThan(10)
      }
      expect(await strayBlocks(dataDir)).toEqual({ files: ['AA/notes.data'], rows: [] })
      expect((await engine.verify()).damaged).toEqual([])
      expect((await storeSizes(dataDir)).blocks).toBe(3)
    }
    await withEngine(run, { fileSystem: files })
  })

  test('content with a stray file can be uploaded during the search', async () => {
    await withEngine(async ({ engine, account, dataDir }) => {
      const seeds = Array.from({ length: 12 }, (_, i) => `both ${i}`)
      for (const seed of seeds) await strayFile(dataDir, seed)
      const collecting = (async () => {
        for (let i = 0; i < WHOLE_SCAN; i++) await engine.collect({ graceSeconds: 0 })
      })()
      await Promise.all(seeds.map(seed => engine.pins.upload(pseudoRandom(50_000, seed), { account })))
      await collecting
      expect((await engine.verify()).damaged).toEqual([])
      expect(await strayBlocks(dataDir)).toEqual({ files: [], rows: [] })
    })
  })

  test('garbage with a time in the future is deleted', async () => {
    await withEngine(async test => {
      const { engine, dataDir, clock } = test
      await removed(test, 'ahead')
      await engine.collect()
      const year = 365 * 86_400_000
      withDatabase(dataDir, db => db.prepare<[number]>('UPDATE garbage SET freed_at = ?').run(clock.now() + year))
      expect(await engine.collect()).toMatchObject({ blocks: 1 })
      expect(await storeSizes(dataDir)).toEqual(EMPTY)
    })
  })

  test('only temporary block files are removed from tmp', async () => {
    await withEngine(async test => {
      const tmp = join(test.dataDir, 'tmp')
      await mkdir(join(tmp, 'lost+found'))
      await writeFile(join(tmp, '0d9b9c1e-7f0c-4c1e-9f0a-3f5c3d7e8a11'), 'half a block')
      await test.restart()
      expect(await readdir(tmp)).toEqual(['lost+found'])
    })
  })
})
