import { rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEngine, type Engine } from '../../src/index.ts'
import { Database } from '../../src/storage/database.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { needs } from '../support/needs.ts'
import { newDirectory } from '../support/new-database.ts'
import { RecordingFiles } from '../support/recording-files.ts'
import { canMount, withSmallDisk } from '../support/small-disk.ts'
import { EMPTY, storeSizes } from '../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

const GIB = 1024 ** 3
const MIB = 1024 ** 2
const ROOMY = { freeBytes: 10 * GIB, totalBytes: 100 * GIB }

async function health(engine: Engine, path = '/health'): Promise<unknown> {
  const { status, body } = await engine.api({
    method: 'GET',
    path,
    query: '',
    header: () => undefined,
    body: (async function* () {})(),
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
  })
  return { httpStatus: status, ...JSON.parse(Buffer.from(body as Uint8Array).toString()) }
}

function withRoom(run: (test: TestEngine & { files: RecordingFiles }) => Promise<void>): Promise<void> {
  const files = new RecordingFiles()
  files.room = ROOMY
  return withEngine(test => run(Object.assign(test, { files })), { fileSystem: files })
}

describe('a disk with less than the reserve free', () => {
  test.each<[string, number, number, number | undefined]>([
    ['64 MiB of a large one', 100 * GIB, 64 * MIB, undefined],
    ['5 % of a small one', 100 * MIB, 5 * MIB, undefined],
    ['what is configured', 100 * GIB, GIB, GIB],
  ])('is one with less than %s', async (_, totalBytes, reserve, reserveBytes) => {
    const files = new RecordingFiles()
    const run = async ({ engine, account, clock }: TestEngine): Promise<void> => {
      const upload = (seed: string) => engine.pins.upload(pseudoRandom(10_000, seed), { account })
      files.room = { freeBytes: reserve + 9_999, totalBytes }
      await expect(upload('over')).rejects.toMatchObject({ code: 'STORAGE_FULL' })
      files.room = { freeBytes: reserve + 10_000, totalBytes }
      clock.advance(1_000)
      expect((await upload('exact')).created).toBe(true)
    }
    await withEngine(run, { fileSystem: files, disk: reserveBytes === undefined ? {} : { reserveBytes } })
  })

  test('refuses new content, deletes, reports itself, and recovers by itself', async () => {
    await withRoom(async ({ engine, account, clock, files, dataDir }) => {
      const { cid } = (await engine.pins.upload(pseudoRandom(50_000, 'old'), { account })).record
      files.room = { ...ROOMY, freeBytes: 63 * MIB }
      clock.advance(10_000)
      for (const size of [10, 50_000, 2_000_000]) {
        const content = pseudoRandom(size, 'new')
        await expect(engine.pins.upload(content, { account })).rejects.toMatchObject({ code: 'STORAGE_FULL' })
      }
      expect(await health(engine)).toEqual({ httpStatus: 200, status: 'full' })
      expect(await health(engine, '/ready')).toEqual({ httpStatus: 503, status: 'full' })
      const disk = { backend: 0, freeBytes: 63 * MIB, reserveBytes: 64 * MIB, isFull: true }
      expect((await engine.stats()).disks).toEqual([disk])
      expect(await engine.pins.remove({ account, cid })).toHaveLength(1)
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(dataDir)).toEqual(EMPTY)
      files.room = ROOMY
      clock.advance(1_000)
      expect((await engine.pins.upload(pseudoRandom(2_000_000, 'new'), { account })).created).toBe(true)
      expect(await health(engine)).toMatchObject({ status: 'ok' })
      expect(await health(engine, '/ready')).toEqual({ httpStatus: 200, status: 'ok' })
    })
  })

  test('is read again only after a change or a time', async () => {
    await withRoom(async ({ engine, account, files }) => {
      let looks = 0
      const { space } = files
      files.space = path => {
        looks++
        return space.call(files, path)
      }
      for (let i = 0; i < 50; i++) await engine.pins.upload(pseudoRandom(100, i), { account })
      expect(looks).toBe(1)
    })
  })
})

describe('the ballast', () => {
  test('is written with enough room, deleted for a deletion, and written again', async () => {
    await withRoom(async ({ engine, account, clock, files, dataDir }) => {
      const size = (): Promise<number> =>
        stat(join(dataDir, 'ballast')).then(
          found => found.size,
          () => 0,
        )
      const { cid } = (await engine.pins.upload(pseudoRandom(50_000, 'old'), { account })).record
      const written = files.seen('close ballast done')
      clock.advance(0)
      await written
      expect(await size()).toBe(8 * MIB)
      files.room = { ...ROOMY, freeBytes: 0 }
      const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
      const { transaction } = Database.prototype
      // While the ballast exists, no commit finds room.
      Database.prototype.transaction = function <T>(this: Database, work: () => T): T {
        const hasRoom = this.inTransaction || files.log.includes('unlink ballast done')
        return transaction.call(this, () => {
          const result = work()
          if (!hasRoom) throw full
          return result
        }) as T
      }
      try {
        expect(await engine.pins.remove({ account, cid })).toHaveLength(1)
      } finally {
        Database.prototype.transaction = transaction
      }
      expect(await size()).toBe(0)
      files.room = ROOMY
      const again = files.seen('close ballast done')
      clock.advance(10_000)
      await again
      expect(await size()).toBe(8 * MIB)
    })
  })
})

describe('a real full disk', needs(canMount, 'this user may not mount a small disk'), () => {
  test('deletes, collects, starts and recovers, filled by uploads or by others', {
    timeout: 60_000,
  }, async () => {
    await withSmallDisk('24m', async disk => {
      const dataDir = join(disk, 'data')
      const files = new RecordingFiles()
      // The node writes the ballast after its start; without it, the disk would stay full.
      const written = files.seen('close ballast done')
      let engine = await createEngine({ dataDir: newDirectory(dataDir), fileSystem: files })
      try {
        await written
        const account = (await engine.accounts.create({ email: 'full@example.org', plan: 'unlimited' })).id
        const upload = (seed: number) => engine.pins.upload(pseudoRandom(400_000, seed), { account })
        const cids: string[] = []
        const fill = async (): Promise<unknown> => {
          for (let i = 0; ; i++) cids.push((await upload(i)).record.cid)
        }
        await expect(fill()).rejects.toMatchObject({ code: 'STORAGE_FULL' })
        expect(cids.length).toBeGreaterThan(20)
        expect(await health(engine)).toMatchObject({ status: 'full' })
        await fillWhatIsLeft(disk)
        for (const cid of cids.splice(0, 5)) expect(await engine.pins.remove({ account, cid })).toHaveLength(1)
        await engine.stop()
        engine = await createEngine({ dataDir: newDirectory(dataDir) })
        for (const cid of cids.splice(0, 5)) expect(await engine.pins.remove({ account, cid })).toHaveLength(1)
        expect((await engine.collect({ graceSeconds: 0 })).blocks).toBeGreaterThan(9)
        await rm(join(disk, 'of-others'))
        expect((await upload(1_000)).created).toBe(true)
        expect((await engine.verify()).damaged).toEqual([])
      } finally {
        await engine.stop()
      }
    })
  })

  test('filled by others during a stop costs only the ballast', async () => {
    await withSmallDisk('24m', async disk => {
      const dataDir = join(disk, 'data')
      const ballast = (): Promise<boolean> =>
        stat(join(dataDir, 'ballast')).then(
          () => true,
          () => false,
        )
      const files = new RecordingFiles()
      const written = files.seen('close ballast done')
      const first = await createEngine({ dataDir: newDirectory(dataDir), fileSystem: files })
      const account = (await first.accounts.create({ email: 'full@example.org', plan: 'unlimited' })).id
      const { cid } = (await first.pins.upload(pseudoRandom(400_000, 'old'), { account })).record
      await written
      await first.stop()
      await fillWhatIsLeft(disk)
      expect(await ballast()).toBe(true)
      const second = await createEngine({ dataDir: newDirectory(dataDir) })
      try {
        expect(await ballast()).toBe(false)
        expect(await second.pins.remove({ account, cid })).toHaveLength(1)
        expect((await second.collect({ graceSeconds: 0 })).blocks).toBe(1)
      } finally {
        await second.stop()
      }
    })
  })
})

async function fillWhatIsLeft(disk: string): Promise<void> {
  await writeFile(join(disk, 'of-others'), Buffer.alloc(await freeOn(disk), 1)).catch(() => undefined)
  expect(await freeOn(disk)).toBeLessThan(16_384)
}

async function freeOn(disk: string): Promise<number> {
  const { bavail, bsize } = await statfs(disk)
  return bavail * bsize
}
