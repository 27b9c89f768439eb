import { readFileSync, statSync, utimesSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkBackup, createEngine, restoreBackup } from '../../src/index.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { needsLinux } from '../support/needs.ts'
import { newDirectory } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'
import { unpack } from '../support/unpack.ts'
import { expectRestores, filesBelow, fill, flipBit, OTHER_DISK } from './support.ts'

const OLD = join(import.meta.dirname, 'fixtures', 'backup-0.2.0.tar.gz')

/** Runs with an engine and a directory for its backup on another file system, where blocks are copies. */
function withCopies(use: (test: TestEngine, backup: string) => Promise<void>): Promise<void> {
  return withTempDir(dir => withEngine(test => use(test, join(dir, 'backup'))), OTHER_DISK)
}

/** Runs like {@link withCopies}, on the same file system, so that blocks are links. */
function withLinks(use: (test: TestEngine, backup: string) => Promise<void>): Promise<void> {
  return withTempDir(dir => withEngine(test => use(test, join(dir, 'backup'))))
}

function blocksIn(directory: string): [string, ...string[]] {
  const [first = '', ...others] = filesBelow(directory, '.data')
  return [first, ...others]
}

/** Returns the path of a backup's block in the store. */
function inStore({ dataDir }: Pick<TestEngine, 'dataDir'>, file: string): string {
  return join(dataDir, file.slice(file.indexOf('/blocks/')))
}

describe('a block damaged in the store', needsLinux, () => {
  test('is named when a backup would copy it', async () => {
    await withCopies(async (test, backup) => {
      await fill(test, 'rotten')
      flipBit(blocksIn(test.dataDir)[0])
      const { missing } = await test.engine.backup(backup)
      expect(missing).toHaveLength(1)
      const checked = await checkBackup({ backup })
      expect(checked).toMatchObject({ problemCount: 1, problems: [{ what: missing[0], problem: 'missing' }] })
    })
  })

  test('leaves the backup after its repair, for links and copies', async () => {
    for (const withBackup of [withLinks, withCopies]) {
      await withBackup(async (test, backup) => {
        const stored = await fill(test, 'healed')
        await test.engine.backup(backup)
        const [file] = blocksIn(backup)
        flipBit(inStore(test, file))
        const isLink = statSync(file).ino === statSync(inStore(test, file)).ino
        expect((await checkBackup({ backup })).problemCount).toBe(isLink ? 1 : 0)
        await fill(test, 'healed')
        expect(await test.engine.backup(backup)).toMatchObject({ missing: [], mendedBlocks: isLink ? 1 : 0 })
        expect(await checkBackup({ backup })).toMatchObject({ problemCount: 0 })
        await expectRestores(backup, stored)
      })
    }
  })

  test('is replaced in the backup after its repair, without a check', async () => {
    await withLinks(async (test, backup) => {
      const stored = await fill(test, 'relinked')
      await test.engine.backup(backup)
      const [file] = blocksIn(backup)
      flipBit(inStore(test, file))
      await fill(test, 'relinked')
      expect(await test.engine.backup(backup)).toMatchObject({ missing: [], mendedBlocks: 1 })
      expect(statSync(file).ino).toBe(statSync(inStore(test, file)).ino)
      await expectRestores(backup, stored)
    })
  })
})

describe('a block damaged in the backup', needsLinux, () => {
  test('is named by a check, and repaired by the next backup', async () => {
    await withCopies(async (test, backup) => {
      const stored = await fill(test, 'rotten')
      await test.engine.backup(backup)
      flipBit(blocksIn(backup)[0])
      expect(await test.engine.backup(backup)).toMatchObject({ mendedBlocks: 0, lastFullRead: null })
      expect(await checkBackup({ backup })).toMatchObject({ problemCount: 1, repaired: 0 })
      const mended = await test.engine.backup(backup)
      expect(mended).toMatchObject({ mendedBlocks: 1, newBlocks: 0, missing: [], lastFullRead: { damaged: 0 } })
      expect(await test.engine.backup(backup)).toMatchObject({ mendedBlocks: 0 })
      await expectRestores(backup, stored)
    })
  })

  test('is repaired by the next backup if its time changed', async () => {
    await withCopies(async (test, backup) => {
      const stored = await fill(test, 'touched')
      await test.engine.backup(backup)
      const [file] = blocksIn(backup)
      const bytes = readFileSync(file)
      bytes[10] = (bytes[10] ?? 0) ^ 1
      await rm(file)
      await writeFile(file, bytes)
      expect(await test.engine.backup(backup)).toMatchObject({ mendedBlocks: 1, newBlocks: 0 })
      await expectRestores(backup, stored)
    })
  })

  test('is repaired from the store beside a running engine, like keys', async () => {
    await withCopies(async (test, backup) => {
      const stored = await fill(test, 'repaired')
      const { keys } = await test.engine.backup(backup)
      const [first, second = ''] = blocksIn(backup)
      flipBit(first)
      await rm(second)
      flipBit(join(keys, 'data.key'), 40)
      expect((await checkBackup({ backup })).problemCount).toBe(3)
      expect(await checkBackup({ backup, repairFrom: test.dataDir })).toMatchObject({ problemCount: 0, repaired: 3 })
      await expectRestores(backup, stored)
    })
  })

  test('is named in database or manifest, and repaired by a forced backup', async () => {
    await withCopies(async (test, backup) => {
      const stored = await fill(test, 'database')
      await test.engine.backup(backup)
      const [database = ''] = filesBelow(backup, '.db')
      flipBit(database, 300_000)
      expect((await checkBackup({ backup })).problems).toMatchObject([{ what: database }])
      await test.engine.backup(backup, { force: true })
      expect(await checkBackup({ backup })).toMatchObject({ problemCount: 0 })
      await writeFile(join(backup, 'manifest.json'), '{')
      const refused = { code: 'BACKUP_UNUSABLE' }
      await expect(checkBackup({ backup })).rejects.toMatchObject(refused)
      await expect(test.engine.backup(backup)).rejects.toMatchObject(refused)
      await test.engine.backup(backup, { force: true })
      await expectRestores(backup, stored)
    })
  })
})

describe('a backup of 0.2.0', needsLinux, () => {
  test('is checked and restored', async () => {
    await withTempDir(async dir => {
      await unpack(OLD, dir)
      expect(await checkBackup({ backup: join(dir, 'backup') })).toMatchObject({ problemCount: 0, blocks: 3 })
      const restored = await restoreBackup({ backup: join(dir, 'backup'), dataDir: join(dir, 'restored') })
      expect(restored).toMatchObject({ damaged: [], blocks: 3 })
      await (await createEngine({ dataDir: join(dir, 'restored') })).stop()
    })
  })

  test('is continued by its node, which reads and repairs all of it', async () => {
    await withTempDir(async dir => {
      await unpack(OLD, dir)
      const backup = join(dir, 'backup')
      const dataDir = join(dir, 'data')
      const [file] = blocksIn(backup)
      const { atime, mtime } = statSync(inStore({ dataDir }, file))
      // A damaged copy that looks unchanged.
      utimesSync(file, atime, mtime)
      flipBit(file)
      const engine = await createEngine({ dataDir: newDirectory(dataDir), clock: new ManualClock() })
      try {
        const outcome = await engine.backup(backup)
        expect(outcome).toMatchObject({ sequence: 1, newBlocks: 0, mendedBlocks: 1, missing: [] })
        expect(await checkBackup({ backup })).toMatchObject({ problemCount: 0 })
      } finally {
        await engine.stop()
      }
    })
  })

  test('is not replaced by another node', async () => {
    await withTempDir(async dir => {
      await unpack(OLD, dir)
      await rename(join(dir, 'data'), join(dir, 'away'))
      const engine = await createEngine({ dataDir: join(dir, 'data') })
      try {
        const refused = { code: 'CONFLICT', message: expect.stringContaining('is of another node') }
        await expect(engine.backup(join(dir, 'backup'))).rejects.toMatchObject(refused)
      } finally {
        await engine.stop()
      }
      expect(await restoreBackup({ backup: join(dir, 'backup'), dataDir: join(dir, 'restored') })).toMatchObject({
        damaged: [],
      })
    })
  })
})
