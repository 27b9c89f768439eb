import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  checkBackup,
  createEngine,
  type Engine,
  openAccounts,
  rehearseUpgrade,
  restoreBackup,
} from '../../src/index.ts'
import { callApi } from '../support/api-call.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { newDirectory } from '../support/new-database.ts'
import { viaGateway } from '../support/read-back.ts'
import { filesIn, withTempDir } from '../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'
import { withClusters } from '../support/two-clusters.ts'
import { expectStored, fill } from './support.ts'

/** Runs with an engine on a restored data directory. */
async function withRestored(
  options: Parameters<typeof restoreBackup>[0],
  use: (engine: Engine) => Promise<void>,
): Promise<void> {
  await restoreBackup(options)
  const engine = await createEngine({ dataDir: options.dataDir })
  try {
    await use(engine)
  } finally {
    await engine.stop()
  }
}

/** Runs with an engine, and directories for backups and restores. */
function withBackups(use: (test: TestEngine, backup: string, dir: string) => Promise<void>): Promise<void> {
  return withTempDir(dir => withEngine(test => use(test, join(dir, 'backup'), dir)))
}

describe('a backup', () => {
  test('is in the statistics if it is below the configured directories', () =>
    withTempDir(dir =>
      withEngine(
        async ({ engine }) => {
          const known = async () => (await engine.stats()).backups
          const patience = { timeout: 60_000 }
          await expect.poll(known, patience).toEqual({ newestAt: null })
          await engine.backup(join(dir, 'nightly'))
          await expect.poll(async () => (await known())?.newestAt, patience).toBeTypeOf('number')
        },
        { backupRoots: [dir] },
      ),
    ))

  test('has every write acknowledged before it began, whatever follows', async () => {
    await withBackups(async (test, backup, dir) => {
      const { engine, account } = test
      const stored = await fill(test, 'before')
      const gone = await fill(test, 'gone')
      const key = await engine.keys.create(account, { name: 'mine' })
      let isOver = false
      const meanwhile = (async () => {
        for (const cid of gone.keys()) await engine.pins.remove({ account, cid })
        for (let count = 0; !isOver; count++) {
          await engine.pins.upload(pseudoRandom(50_000, `meanwhile ${count}`), { account })
        }
      })()
      const collected = engine.collect({ graceSeconds: 0 })
      const outcome = await engine.backup(backup)
      isOver = true
      await meanwhile
      await collected
      expect(outcome).toMatchObject({ directory: backup, missing: [] })
      await withRestored({ backup, dataDir: join(dir, 'restored') }, async restored => {
        await expectStored(restored, stored)
        expect(await restored.verify()).toMatchObject({ damaged: [] })
        const headers = { authorization: `Bearer ${key.secret}` }
        expect(await callApi(restored, 'GET', '/users/me', headers)).toMatchObject({ status: 200 })
      })
    })
  })

  test('adds new blocks and removes old ones when repeated', async () => {
    await withBackups(async (test, backup, dir) => {
      const { engine, account, clock } = test
      const first = await fill(test, 'first')
      const { newBlocks, blocks } = await engine.backup(backup)
      expect(newBlocks).toBe(blocks)
      const files = (await filesIn(join(backup, 'stores'))).length
      const second = await fill(test, 'second')
      for (const cid of first.keys()) await engine.pins.remove({ account, cid })
      await engine.collect({ graceSeconds: 0 })
      clock.advance(1_000)
      expect(await engine.backup(backup)).toMatchObject({ blocks, newBlocks })
      expect((await filesIn(join(backup, 'stores'))).length).toBe(files)
      expect((await readdir(backup)).filter(name => name.startsWith('database-')).length).toBe(1)
      await withRestored({ backup, dataDir: join(dir, 'restored') }, async restored => {
        await expectStored(restored, second)
        for (const cid of first.keys()) expect((await viaGateway(restored, `/ipfs/${cid}`)).status).toBe(404)
      })
    })
  })

  test('has a format that earlier versions refuse, if content is private', async () => {
    await withBackups(async ({ engine, account, clock }, backup, dir) => {
      const formatOf = async (): Promise<string> => {
        clock.advance(1_000)
        await engine.backup(backup)
        return JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8')).format
      }
      expect(await formatOf()).toBe('holdfast-backup-2')
      const { record } = await engine.pins.upload('closed', { account, visibility: 'private' })
      expect(await formatOf()).toBe('holdfast-backup-3')
      expect(await formatOf()).toBe('holdfast-backup-3')
      expect(await checkBackup({ backup })).toMatchObject({ problems: [] })
      await withRestored({ backup, dataDir: join(dir, 'restored') }, async restored => {
        expect((await viaGateway(restored, `/ipfs/${record.cid}`)).status).toBe(404)
        expect((await restored.content.read({ cid: record.cid, account })).size).toBe(6)
      })
      await engine.pins.setVisibility({ account, uploadId: record.uploadId, visibility: 'public' })
      expect(await formatOf()).toBe('holdfast-backup-2')
    })
  })

  test('counts small blocks, whose bytes are in the database', async () => {
    await withBackups(async (test, backup, dir) => {
      await fill(test, 'first', { sizes: [100, 200] })
      const first = { blocks: 2, newBlocks: 2, bytes: 300 }
      expect(await test.engine.backup(backup)).toMatchObject(first)
      expect(await test.engine.backup(backup)).toMatchObject({ ...first, newBlocks: 0 })
      await fill(test, 'second', { sizes: [400] })
      expect(await test.engine.backup(backup)).toMatchObject({ blocks: 3, newBlocks: 1, bytes: 700 })
      expect(JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8')).blocks).toEqual({ count: 3, bytes: 700 })
      expect(await checkBackup({ backup })).toMatchObject({ blocks: 3, bytes: 700 })
      expect(await restoreBackup({ backup, dataDir: join(dir, 'restored') })).toMatchObject({ blocks: 3, bytes: 700 })
    })
  })

  test('leaves the former backup intact when it fails', async () => {
    await withBackups(async (test, backup, dir) => {
      const first = await fill(test, 'first')
      await test.engine.backup(backup)
      await fill(test, 'second')
      test.clock.advance(1_000)
      const stop = new AbortController()
      const broken = test.engine.backup(backup, { signal: stop.signal, onProgress: () => stop.abort() })
      await expect(broken).rejects.toThrow()
      await withRestored({ backup, dataDir: join(dir, 'restored') }, restored => expectStored(restored, first))
      test.clock.advance(1_000)
      await test.engine.backup(backup)
    })
  })

  test('excludes other users, and refuses to contain itself or mix with files', async () => {
    await withBackups(async ({ engine, dataDir }, backup, dir) => {
      await engine.backup(backup)
      for (const name of ['manifest.json', 'keys/data.key', 'keys/identity.json']) {
        expect((await stat(join(backup, name))).mode & 0o077).toBe(0)
      }
      const [database = ''] = (await readdir(backup)).filter(name => name.startsWith('database-'))
      expect((await stat(join(backup, database))).mode & 0o077).toBe(0)
      await writeFile(join(dir, 'other'), 'other')
      for (const directory of [dataDir, join(dataDir, 'backup'), dir]) {
        await expect(engine.backup(directory)).rejects.toMatchObject({ code: 'VALIDATION' })
      }
    })
  })

  test('names the option whose directory is a file', async () => {
    await withBackups(async ({ engine, dataDir }, backup, dir) => {
      const file = join(dir, 'file')
      await writeFile(file, 'text')
      const refused = (field: string) => ({ code: 'VALIDATION', message: expect.stringMatching(`^${field}: ${file}`) })
      for (const directory of [file, join(file, 'backup')]) {
        await expect(engine.backup(directory)).rejects.toMatchObject(refused('directory'))
      }
      await expect(engine.backup(backup, { keys: file })).rejects.toMatchObject(refused('keys'))
      expect(() => rehearseUpgrade(dataDir, file)).toThrow(expect.objectContaining(refused('scratch')))
      expect(await readFile(file, 'utf8')).toBe('text')
    })
  })

  test('refuses a rate at which it would never end', async () => {
    await withBackups(async ({ engine }, backup) => {
      const refused = { code: 'VALIDATION', message: 'bytesPerSecond must be a number above 0' }
      await engine.backup(backup)
      for (const bytesPerSecond of [0, -1, Number.NaN]) {
        await expect(engine.backup(`${backup}-2`, { bytesPerSecond })).rejects.toMatchObject(refused)
        await expect(checkBackup({ backup, bytesPerSecond })).rejects.toMatchObject(refused)
      }
      expect((await checkBackup({ backup, bytesPerSecond: 1e9 })).problemCount).toBe(0)
    })
  })

  test('includes the external directories of clusters', async () => {
    await withTempDir(dir =>
      withClusters(async test => {
        const backup = join(dir, 'backup')
        const stored = await fill(test, 'far', { cluster: 'far' })
        await test.engine.backup(backup)
        const restored = await restoreBackup({ backup, dataDir: join(dir, 'restored') })
        expect(restored.clusterDirs).toEqual([{ was: test.farDir, is: join(dir, 'restored', 'clusters', '1') }])
        const clusters = test.clusters.map(cluster => ({
          ...cluster,
          ...(cluster.dataDir && { dataDir: restored.clusterDirs[0]?.is ?? '' }),
        }))
        const engine = await createEngine({ dataDir: restored.dataDir, clusters, defaultCluster: 'near' })
        try {
          await expectStored(engine, stored)
        } finally {
          await engine.stop()
        }
      }),
    )
  })
})

describe('a restored data directory', () => {
  const network = { enabled: true, listen: ['/ip4/127.0.0.1/tcp/0'] }
  const peerOf = async (dataDir: string): Promise<string> => {
    const engine = await createEngine({ dataDir: newDirectory(dataDir), network })
    try {
      return (await engine.addresses())[0]?.split('/p2p/')[1] ?? ''
    } finally {
      await engine.stop()
    }
  }

  test('is a new node, or the same one on request', async () => {
    await withTempDir(async dir => {
      const [dataDir, backup] = [join(dir, 'data'), join(dir, 'backup')]
      const peer = await peerOf(dataDir)
      const engine = await createEngine({ dataDir: newDirectory(dataDir) })
      await engine.backup(backup)
      await engine.stop()
      await restoreBackup({ backup, dataDir: join(dir, 'other') })
      await restoreBackup({ backup, dataDir: join(dir, 'same'), sameNode: true })
      expect(peer).not.toBe('')
      expect(await peerOf(join(dir, 'other'))).not.toBe(peer)
      expect(await peerOf(join(dir, 'same'))).toBe(peer)
    })
  })

  test('keeps second factors, if it has their key', async () => {
    await withBackups(async ({ engine, account, dataDir }, backup, dir) => {
      const beside = openAccounts({ dataDir })
      const setup = await beside.secondFactor.begin(await beside.accounts.get(account))
      beside.close()
      expect(setup.secret).not.toBe('')
      const keys = join(dir, 'keys')
      await engine.backup(backup, { keys })
      expect(await readdir(backup)).not.toContain('keys')
      const dataDir2 = join(dir, 'restored')
      await expect(restoreBackup({ backup, dataDir: dataDir2 })).rejects.toMatchObject({ code: 'BACKUP_UNUSABLE' })
      await withRestored({ backup, dataDir: dataDir2, keys }, async restored => {
        expect(await readFile(join(restored.dataDir, 'data.key'))).toEqual(await readFile(join(dataDir, 'data.key')))
      })
    })
  })

  test('is complete or absent, unless damage is accepted', async () => {
    await withBackups(async (test, backup, dir) => {
      const stored = await fill(test, 'damaged')
      await test.engine.backup(backup)
      const [first = '', second = ''] = await filesIn(join(backup, 'stores'))
      // Damages only the copy: a link shares its bytes with the store.
      for (const name of [first, second]) await rm(join(backup, 'stores', name))
      await writeFile(join(backup, 'stores', first), 'other bytes')
      const dataDir = join(dir, 'restored')
      await expect(restoreBackup({ backup, dataDir })).rejects.toMatchObject({ code: 'BLOCK_DAMAGED' })
      await expect(stat(join(dataDir, 'holdfast.db'))).rejects.toThrow()
      const { damaged } = await restoreBackup({ backup, dataDir, partial: true })
      expect(damaged.length).toBe(2)
      const engine = await createEngine({ dataDir: newDirectory(dataDir) })
      try {
        expect((await engine.verify()).damaged.length).toBe(2)
        // An upload of the same content repairs it.
        const { items } = await engine.pins.list({ account: test.account })
        for (const content of stored.values()) await engine.pins.upload(content, { account: items[0]?.accountId ?? '' })
        await expectStored(engine, stored)
      } finally {
        await engine.stop()
      }
    })
  })

  test('is refused for a non-backup, a changed backup or a used target', async () => {
    await withBackups(async ({ engine }, backup, dir) => {
      const dataDir = join(dir, 'restored')
      const refused = (code: string) => expect(restoreBackup({ backup, dataDir })).rejects.toMatchObject({ code })
      await refused('BACKUP_UNUSABLE')
      await engine.backup(backup)
      await expect(restoreBackup({ backup, dataDir: engine.dataDir })).rejects.toMatchObject({
        code: 'DATA_DIR_UNUSABLE',
      })
      const [database = ''] = (await readdir(backup)).filter(name => name.startsWith('database-'))
      const bytes = await readFile(join(backup, database))
      bytes[5_000] = (bytes[5_000] ?? 0) ^ 1
      await writeFile(join(backup, database), bytes)
      await refused('BACKUP_UNUSABLE')
      await rm(join(backup, 'manifest.json'))
      await refused('BACKUP_UNUSABLE')
    })
  })
})
