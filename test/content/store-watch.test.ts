import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { StoreWatch } from '../../src/content/store-watch.ts'
import { nodeFileSystem } from '../../src/disk/node-file-system.ts'
import type { FileSystem } from '../../src/domain/file-system.ts'
import { createEngine, type Engine } from '../../src/index.ts'
import { callApi } from '../support/api-call.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newDirectory } from '../support/new-database.ts'
import { viaGateway } from '../support/read-back.ts'
import { filesIn, withTempDir } from '../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

const LARGE = pseudoRandom(100_000, 'a block in a file')
const SMALL = pseudoRandom(100, 'a block in the database')

async function stateOf(engine: Engine, path: string): Promise<unknown> {
  const { status, json } = await callApi(engine, 'GET', path)
  return [status, json]
}

/** Runs the regular check of the disk. */
async function looked({ engine, clock }: TestEngine, isReady: boolean): Promise<void> {
  await expect
    .poll(async () => {
      clock.advance(10_000)
      return (await callApi(engine, 'GET', '/ready')).status
    })
    .toBe(isReady ? 200 : 503)
}

const AWAY: Record<string, { away: (blocks: string) => Promise<unknown>; reason: RegExp }> = {
  gone: { away: blocks => rename(blocks, `${blocks}-aside`), reason: /of the node is gone$/ },
  replaced: {
    away: async blocks => {
      await rename(blocks, `${blocks}-aside`)
      await mkdir(blocks)
      // Files in a wrong directory are not removed.
      await mkdir(join(blocks, 'AA'))
      await writeFile(join(blocks, 'AA', 'CIQFOREIGN.data'), 'foreign')
    },
    reason: /of the node has been replaced/,
  },
}

describe('the directory of blocks of a running node', () => {
  test.each(Object.entries(AWAY))('that is %s makes the node unready until it is back', async (_, { away, reason }) => {
    await withEngine(async test => {
      const { engine, account, dataDir, clock } = test
      const blocks = join(dataDir, 'blocks')
      const { cid } = (await engine.pins.upload(LARGE, { account })).record
      await looked(test, true)
      await away(blocks)
      await looked(test, false)
      // A check may have met the directory between two steps of the change.
      await expect
        .poll(() => {
          clock.advance(10_000)
          return stateOf(engine, '/ready')
        })
        .toEqual([503, { status: 'no-storage', reason: expect.stringMatching(reason) }])
      expect(await stateOf(engine, '/health')).toEqual([200, { status: 'no-storage' }])
      for (const content of [SMALL, pseudoRandom(100_000, 'new')]) {
        await expect(engine.pins.upload(content, { account })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      }
      await expect(engine.reconcile({ force: true })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      await engine.collect({ graceSeconds: 0 })
      expect((await engine.pins.status({ account, cid }))[0]?.record.status).toBe('pinned')
      await rm(blocks, { recursive: true, force: true })
      await rename(`${blocks}-aside`, blocks)
      await looked(test, true)
      expect((await engine.pins.upload(pseudoRandom(100_000, 'later'), { account })).created).toBe(true)
      expect((await engine.reconcile()).found).toEqual({})
      expect((await viaGateway(engine, `/ipfs/${cid}`)).status).toBe(200)
    })
  })

  test('that goes is noticed within two seconds, and its return as well', async () => {
    await withTempDir(async dataDir => {
      const blocks = join(dataDir, 'blocks')
      await mkdir(blocks)
      await mkdir(join(dataDir, 'tmp'))
      const clock = new ManualClock()
      const watch = new StoreWatch(nodeFileSystem, dataDir)
      await watch.begin()
      watch.start(clock)
      /** Moves the clock by two seconds once the next check is due. */
      const later = async (): Promise<void> => {
        await expect.poll(() => clock.waiting).toBe(1)
        clock.advance(2_000)
      }
      await rename(blocks, `${blocks}-aside`)
      await later()
      await expect.poll(() => watch.problem).toBe('is gone')
      await rename(`${blocks}-aside`, blocks)
      await later()
      await expect.poll(() => watch.problem).toBe(null)
      await watch.stop()
      expect(clock.waiting).toBe(0)
    })
  })

  test("that becomes read-only makes the node unready, by its cluster's name", async () => {
    let isReadOnly = false
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      create: async path => {
        if (isReadOnly && path.includes('far')) throw Object.assign(new Error('read-only'), { code: 'EROFS' })
        return nodeFileSystem.create(path)
      },
    }
    await withTempDir(async dir => {
      const plain = { label: '', region: '', country: null, gateways: [] }
      const clusters = [
        { ...plain, id: 'near' },
        { ...plain, id: 'far', dataDir: join(dir, 'far') },
      ]
      await withEngine(
        async test => {
          const { engine, account } = test
          await looked(test, true)
          isReadOnly = true
          await looked(test, false)
          const reason = 'the directory of blocks of the cluster far cannot be written (EROFS)'
          expect(await stateOf(engine, '/ready')).toEqual([503, { status: 'no-storage', reason }])
          const upload = engine.pins.upload(LARGE, { account, cluster: 'far' })
          await expect(upload).rejects.toMatchObject({ code: 'UNAVAILABLE' })
          isReadOnly = false
          await looked(test, true)
          expect((await engine.pins.upload(LARGE, { account, cluster: 'far' })).created).toBe(true)
        },
        { clusters, defaultCluster: 'near', fileSystem },
      )
    })
  })

  test('keeps no file of a check', async () => {
    await withEngine(async test => {
      for (let i = 0; i < 5; i++) await looked(test, true)
      await test.engine.stop()
      expect(await filesIn(join(test.dataDir, 'blocks'))).toEqual([])
      expect(await filesIn(join(test.dataDir, 'tmp'))).toEqual([])
    })
  })
})

describe('a start', () => {
  test.each<[string, (blocks: string) => Promise<unknown>]>([
    ['missing', blocks => rename(blocks, `${blocks}-aside`)],
    [
      'empty',
      blocks => rename(blocks, `${blocks}-aside`).then(() => mkdir(join(blocks, 'lost+found'), { recursive: true })),
    ],
  ])('is refused if the directory of blocks is %s', async (_, away) => {
    await withTempDir(async dataDir => {
      const engine = await createEngine({ dataDir: newDirectory(dataDir) })
      const account = (await engine.accounts.ensureOwner()).account.id
      const { cid } = (await engine.pins.upload(LARGE, { account })).record
      await engine.stop()
      const blocks = join(dataDir, 'blocks')
      await away(blocks)
      const refusal = { code: 'DATA_DIR_UNUSABLE', message: expect.stringMatching(/blocks is empty.*blocks-lost/) }
      await expect(createEngine({ dataDir: newDirectory(dataDir) })).rejects.toMatchObject(refusal)
      await rm(blocks, { recursive: true, force: true })
      await rename(`${blocks}-aside`, blocks)
      const again = await createEngine({ dataDir: newDirectory(dataDir) })
      expect((await viaGateway(again, `/ipfs/${cid}`)).status).toBe(200)
      await again.stop()
      await rm(blocks, { recursive: true })
      await writeFile(join(dataDir, 'blocks-lost'), '')
      await (await createEngine({ dataDir: newDirectory(dataDir) })).stop()
    })
  })

  test('is refused with the blocks of another node', async () => {
    await withTempDir(async dir => {
      for (const name of ['one', 'other']) {
        const engine = await createEngine({ dataDir: join(dir, name) })
        const account = (await engine.accounts.ensureOwner()).account.id
        for (let i = 0; i < 16; i++) await engine.pins.upload(pseudoRandom(40_000, `${name} ${i}`), { account })
        await engine.stop()
      }
      await rename(join(dir, 'one', 'blocks'), join(dir, 'aside'))
      await rename(join(dir, 'other', 'blocks'), join(dir, 'one', 'blocks'))
      const refusal = { code: 'DATA_DIR_UNUSABLE', message: expect.stringContaining('none of 16 blocks') }
      await expect(createEngine({ dataDir: join(dir, 'one') })).rejects.toMatchObject(refusal)
      expect(await filesIn(join(dir, 'one', 'blocks'))).toHaveLength(16)
    })
  })
})
