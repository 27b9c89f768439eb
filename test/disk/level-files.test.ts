import { mkdir, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Key } from 'interface-datastore'
import { expect, test } from 'vitest'
import { ownDataDirectory } from '../../src/disk/data-directory.ts'
import { isLocked, LevelFiles } from '../../src/disk/level-files.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { withTempDir } from '../support/temp-dir.ts'

const IDENTITY = new Key('/pkcs8/self')
const KEPT = Buffer.from('of the node')

async function withStore(run: (dataDir: string, datastore: string) => Promise<void>): Promise<void> {
  await withTempDir(async dataDir => {
    // Twice, so that the key is in a table that only the list names, not in the log.
    for (const key of [IDENTITY, new Key('/later')]) {
      const owned = await ownDataDirectory(dataDir, silentLogger)
      await owned.datastore.put(key, KEPT)
      await owned.close()
    }
    await run(dataDir, join(dataDir, 'datastore'))
  })
}

async function opened(dataDir: string): Promise<{ has: boolean; told: string[] }> {
  const told: string[] = []
  const tell = (_: object, message: string): void => void told.push(message)
  const owned = await ownDataDirectory(dataDir, { ...silentLogger, warn: tell, error: tell })
  try {
    const has = await owned.datastore.has(IDENTITY)
    await owned.datastore.put(IDENTITY, KEPT)
    return { has, told }
  } finally {
    await owned.close()
  }
}

async function named(datastore: string, prefix: string): Promise<string> {
  return join(datastore, (await readdir(datastore)).find(name => name.startsWith(prefix)) ?? prefix)
}

const MADE_ANEW = ['repaired the damaged list of files of the datastore']

test.each<[what: string, damage: (datastore: string) => Promise<unknown>]>([
  ['the name of the list is gone', async dir => rm(join(dir, 'CURRENT'))],
  ['the list is gone', async dir => rm(await named(dir, 'MANIFEST-'))],
  ['both are gone', async dir => Promise.all([rm(join(dir, 'CURRENT')), rm(await named(dir, 'MANIFEST-'))])],
  ['the list is empty', async dir => truncate(await named(dir, 'MANIFEST-'))],
  ['the name is of no list', async dir => writeFile(join(dir, 'CURRENT'), 'MANIFEST-000099\n')],
])('a datastore keeps its data when %s', async (_, damage) => {
  await withStore(async (dataDir, datastore) => {
    await damage(datastore)
    expect(await opened(dataDir)).toEqual({ has: true, told: MADE_ANEW })
    expect(await opened(dataDir)).toEqual({ has: true, told: [] })
  })
})

test('an unreadable datastore moves to quarantine and starts empty', async () => {
  await withStore(async (dataDir, datastore) => {
    await rm(join(datastore, 'CURRENT'))
    await mkdir(join(datastore, 'CURRENT'))
    const { has, told } = await opened(dataDir)
    expect(has).toBe(false)
    expect(told.at(-1)).toContain('moved the unreadable datastore to quarantine')
    const [aside = ''] = await readdir(join(dataDir, 'quarantine'))
    expect(await readdir(join(dataDir, 'quarantine', aside))).toEqual(expect.arrayContaining(['CURRENT', 'LOG']))
    expect(await opened(dataDir)).toEqual({ has: true, told: [] })
  })
})

test('a damaged datastore stays unchanged while another owner has it open', async () => {
  await withStore(async (dataDir, datastore) => {
    const owned = await ownDataDirectory(dataDir, silentLogger)
    await rm(join(datastore, 'CURRENT'))
    const before = await readdir(datastore)
    await expect(new LevelFiles(datastore, silentLogger).open()).rejects.toSatisfy(isLocked)
    expect(await readdir(datastore)).toEqual(before)
    await owned.close()
  })
})
