import { describe, expect, test } from 'vitest'
import type { DirectoryEntry, Engine } from '../../../src/index.ts'
import { directoryOf, fileOf, leaf, leaves, randomFile } from '../../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { planOf } from '../../support/plans.ts'
import { dagBytes, readBlock, readFile, readTree, viaGateway } from '../../support/read-back.ts'
import { EMPTY, storeSizes, strayBlocks } from '../../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../../support/test-engine.ts'
import { carOf, exported, streamOf, version2 } from './support/cars.ts'

function importBytes({ engine, account }: TestEngine, car: Uint8Array, options: object = {}) {
  return engine.pins.importCar(streamOf(car), { account, ...options })
}

function sourceOf(engine: Engine) {
  return engine.clusters.backendOf()
}

/** Yields a tree with every kind of entry. */
async function* tree(): AsyncGenerator<DirectoryEntry> {
  yield { kind: 'file', path: 'large.bin', content: pseudoRandom(5_000_000, 'large') }
  yield { kind: 'file', path: 'empty', content: new Uint8Array(0) }
  yield { kind: 'file', path: 'a/b/c.txt', content: Buffer.from('c') }
  yield { kind: 'directory', path: 'a/nothing' }
  yield { kind: 'symlink', path: 'a/link', target: '../large.bin' }
  for (let i = 0; i < 300; i++) yield { kind: 'file', path: `many/${i}`, content: pseudoRandom(200, i) }
}

async function expectNothing(test: TestEngine): Promise<void> {
  expect(await test.engine.pins.list({ account: test.account })).toMatchObject({ items: [], total: 0 })
  expect(await test.engine.pins.usage(test.account)).toEqual({ pins: 0, storedBytes: 0, keptBytes: 0 })
  await test.engine.collect({ graceSeconds: 0 })
  expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
}

describe('a whole CAR', () => {
  test('carries a directory from one engine to another, files listed', async () => {
    await withEngine(async from => {
      const made = await from.engine.pins.uploadDirectory(tree(), { account: from.account })
      const car = await exported(from.engine, made.record.cid)
      await withEngine(async to => {
        const { record, created, roots } = await importBytes(to, car, { name: 'tree' })
        expect(created).toBe(true)
        expect(roots).toEqual([{ record, created, missing: null }])
        const { size, dagSize } = made.record
        expect(record).toMatchObject({ cid: made.record.cid, type: 'directory', status: 'pinned', name: 'tree' })
        expect(record).toMatchObject({ size, dagSize })
        const { charge } = await dagBytes(await sourceOf(to.engine), record.cid)
        expect(await to.engine.pins.usage(to.account)).toEqual({ pins: 1, storedBytes: charge, keptBytes: 0 })
        expect(await readTree(await sourceOf(to.engine), record.cid)).toEqual(
          await readTree(await sourceOf(from.engine), record.cid),
        )
        const files = async (engine: Engine, account: string) =>
          (await engine.pins.list({ account, parentCid: record.cid, limit: 500 })).items
            .map(({ path, cid, size }) => `${path} ${cid} ${size}`)
            .sort()
        expect(await files(to.engine, to.account)).toEqual(await files(from.engine, from.account))
        expect((await viaGateway(to.engine, `/ipfs/${record.cid}/a/b/c.txt`)).bytes.toString()).toBe('c')
        const again = await importBytes(to, car, { name: 'tree' })
        expect(again).toMatchObject({ created: false, record })
        await to.engine.collect({ graceSeconds: 0 })
        expect((await to.engine.verify()).damaged).toEqual([])
        expect(await strayBlocks(to.dataDir)).toEqual({ files: [], rows: [] })
        await to.engine.pins.remove({ account: to.account, cid: record.cid })
        await expectNothing(to)
      })
    })
  })

  test('from the reference writer keeps only the blocks that a root needs', async () => {
    await withEngine(async test => {
      const file = randomFile(3, 100_000, 'needed')
      const others = leaves(5, 50_000, 'not needed')
      const car = await carOf([file.root], [...others.flatMap(dag => dag.blocks), ...file.blocks])
      const { record } = await importBytes(test, car)
      expect(record).toMatchObject({ cid: file.root.toString(), type: 'file', size: 300_000 })
      expect(await readFile(await sourceOf(test.engine), record.cid)).toHaveLength(300_000)
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toMatchObject({ roots: 1, blocks: file.blocks.length, garbage: 0 })
      expect(record.dagSize).toBe(file.blocks.reduce((sum, { bytes }) => sum + bytes.length, 0))
    })
  })

  test('in version 2 is read like the version 1 within', async () => {
    await withEngine(async test => {
      const file = randomFile(2, 40_000, 'v2')
      const car = version2(await carOf([file.root], file.blocks))
      expect((await importBytes(test, car)).record.cid).toBe(file.root.toString())
    })
  })

  test('with several roots creates a record of each, in one commit', async () => {
    await withEngine(async test => {
      const [first, second] = [randomFile(2, 40_000, 'one'), leaf(pseudoRandom(9, 'two'))]
      const both = directoryOf({ first, second })
      const roots = [second.root, both.root, first.root, second.root]
      const outcome = await importBytes(test, await carOf(roots, both.blocks))
      expect(outcome.roots.map(({ record }) => record.cid)).toEqual(
        [second.root, both.root, first.root].map(root => root.toString()),
      )
      expect(outcome.record).toEqual(outcome.roots[0]?.record)
      expect(outcome.roots.map(({ record }) => record.type)).toEqual(['file', 'directory', 'file'])
      expect((await test.engine.pins.list({ account: test.account })).total).toBe(3)
    })
  })

  test('goes to the backend of its cluster', async () => {
    await withEngine(async test => {
      const { withTempDir } = await import('../../support/temp-dir.ts')
      await withTempDir(async dataDir => {
        const clusters = [
          { id: 'home', label: 'Home', region: 'x', country: null, gateways: [] },
          { id: 'away', label: 'Away', region: 'y', country: null, gateways: [], dataDir },
        ]
        const engine = await test.restart({ clusters, defaultCluster: 'home' })
        const file = randomFile(3, 60_000, 'away')
        const { record } = await importBytes(test, await carOf([file.root], file.blocks), { cluster: 'away' })
        expect(record.clusterId).toBe('away')
        expect(await readFile(await engine.clusters.backendOf('away'), record.cid)).toHaveLength(180_000)
        await engine.collect({ graceSeconds: 0 })
        await expect(readBlock(engine, file.root)).rejects.toMatchObject({ code: 'NOT_FOUND' })
        await test.engine.stop()
      })
    })
  })

  test('may lack blocks of a live record, and then holds them itself', async () => {
    await withEngine(async test => {
      const parts = leaves(3, 90_000, 'gap')
      const file = fileOf(parts)
      const [, held] = parts
      const owner = await test.newAccount()
      const bytes = held?.blocks[0]?.bytes ?? new Uint8Array(0)
      const other = await test.engine.pins.upload(bytes, { account: owner })
      const car = await carOf(
        [file.root],
        file.blocks.filter(({ cid }) => cid.toString() !== other.record.cid),
      )
      const { record } = await importBytes(test, car)
      await test.engine.pins.remove({ account: owner, cid: other.record.cid })
      await test.engine.collect({ graceSeconds: 0 })
      expect(await readFile(await sourceOf(test.engine), record.cid)).toHaveLength(270_000)
    })
  })

  test('completes a record that waits for its content', async () => {
    await withEngine(async test => {
      const file = randomFile(2, 50_000, 'waited')
      const blocks = file.blocks.slice(0, -1)
      const kept = await importBytes(test, await carOf([file.root], blocks), { allowPartial: true })
      const changes: string[] = []
      test.engine.events.on('pin:status', ({ record, from }) => changes.push(`${from} ${record.status}`))
      const whole = await importBytes(test, await carOf([file.root], file.blocks))
      expect(whole).toMatchObject({ created: false, record: { uploadId: kept.record.uploadId, status: 'pinned' } })
      expect(changes).toEqual(['failed queued', 'queued pinned'])
      expect(await test.engine.pins.usage(test.account)).toEqual({
        pins: 1,
        storedBytes: (await dagBytes(await sourceOf(test.engine), whole.record.cid)).charge,
        keptBytes: 0,
      })
      await test.engine.pins.remove({ account: test.account, cid: whole.record.cid })
      await expectNothing(test)
    })
  })
})

describe('an incomplete CAR', () => {
  test.each([0, 1, 3])('is refused with the missing block %i, and leaves nothing', async index => {
    await withEngine(async test => {
      const file = randomFile(4, 50_000, 'lacking')
      const gone = file.blocks[index]?.cid.toString()
      const blocks = file.blocks.filter(({ cid }) => cid.toString() !== gone)
      const refused = importBytes(test, await carOf([file.root], blocks))
      await expect(refused).rejects.toMatchObject({ code: 'VALIDATION', message: expect.stringContaining(`${gone}`) })
      await expectNothing(test)
    })
  })

  test('is not completed by garbage, nor by a running upload', async () => {
    await withEngine(async test => {
      const parts = leaves(2, 90_000, 'garbage')
      const file = fileOf(parts)
      const bytes = parts[1]?.blocks[0]?.bytes ?? new Uint8Array(0)
      const { record } = await test.engine.pins.upload(bytes, { account: test.account })
      await test.engine.pins.remove({ account: test.account, cid: record.cid })
      const blocks = file.blocks.filter(({ cid }) => cid.toString() !== record.cid)
      await expect(importBytes(test, await carOf([file.root], blocks))).rejects.toMatchObject({ code: 'VALIDATION' })
      await expectNothing(test)
    })
  })

  test('is refused with all of its roots', async () => {
    await withEngine(async test => {
      const [one, two] = [randomFile(2, 50_000, 'one'), randomFile(2, 50_000, 'two')]
      const car = await carOf([one.root, two.root], [...one.blocks, ...two.blocks.slice(1)])
      await expect(importBytes(test, car)).rejects.toMatchObject({ code: 'VALIDATION' })
      await expectNothing(test)
    })
  })
})

describe('a partial CAR', () => {
  test('is a failed record that names its gaps and is not served', async () => {
    await withEngine(async test => {
      const file = randomFile(4, 50_000, 'partial')
      const first = file.blocks[1]?.cid.toString()
      const car = await carOf([file.root], [...file.blocks.slice(0, 1), ...file.blocks.slice(3)])
      const { record, created, roots } = await importBytes(test, car, { allowPartial: true })
      expect({ created, status: record.status }).toEqual({ created: true, status: 'failed' })
      expect(roots).toEqual([{ record, created: true, missing: { blocks: 2, first } }])
      const [progress] = await test.engine.pins.status({ account: test.account, cid: record.cid })
      expect(progress).toMatchObject({ reason: expect.stringContaining(`${first} and 1 others`) })
      expect((await viaGateway(test.engine, `/ipfs/${record.cid}`)).status).toBe(503)
      expect((await viaGateway(test.engine, `/ipfs/${file.blocks[3]?.cid}`)).status).toBe(404)
      await test.engine.collect({ graceSeconds: 0 })
      await test.restart()
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toMatchObject({ roots: 1, blocks: 3, records: 1 })
      await expect(importBytes(test, car, { allowPartial: true })).rejects.toMatchObject({ code: 'CONFLICT' })
      await test.engine.pins.remove({ account: test.account, cid: record.cid })
      await expectNothing(test)
    })
  })

  test('is refused under a storage quota', async () => {
    await withEngine(
      async test => {
        const account = await test.newAccount('counted')
        const file = randomFile(2, 50_000, 'counted')
        const car = await carOf([file.root], file.blocks)
        const refused = importBytes(test, car, { account, allowPartial: true })
        await expect(refused).rejects.toMatchObject({ code: 'NOT_OFFERED' })
        await expectNothing(test)
      },
      { plans: { counted: planOf({ maxStorageBytes: 1_000_000_000 }) } },
    )
  })
})
