import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { carOf, streamOf } from '../../content/car/support/cars.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { fetchedBlocks, giveRoots, ownerOf, owners } from '../../support/owned-roots.ts'
import { withDatabase } from '../../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../../support/test-engine.ts'
import { type Dag, directoryOf, randomFile } from './support/dags.ts'
import { withNet, withStillNet } from './support/net.ts'

const SECRET = pseudoRandom(3_000_000, 'a secret')
const dag = randomFile(4, 30_000, 'a fetched secret')

/** Uploads a secret of one account. Returns its CID, and a CID below it. */
async function keepSecret({ engine, dataDir, account }: TestEngine, owner: number): Promise<[string, string]> {
  const { record } = await engine.pins.upload(SECRET, { account, name: 'secret' })
  const source = await engine.clusters.backendOf()
  if (!('reader' in source) || source.reader === null) throw new Error('the backend has no reader')
  const child = (await childrenOf(source.reader, record.cid))[0] ?? ''
  giveRoots(dataDir, record.cid, owner)
  return [record.cid, child]
}

async function childrenOf(reader: { read(cid: CID): Promise<Uint8Array> }, cid: string): Promise<string[]> {
  const { decode } = await import('@ipld/dag-pb')
  return decode(await reader.read(CID.parse(cid))).Links.map(({ Hash }) => Hash.toString())
}

function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: { code?: string }) => error.code ?? String(error),
  )
}

describe('an account that knows the CIDs of another', () => {
  test('gets nothing through a root of its own that links to them', () =>
    withNet(async net => {
      const node = await net.node()
      const { engine, dataDir, account } = node
      const origin = await net.provider(dag.blocks)
      await engine.pins.pin({ account, cid: dag.root.toString(), origins: [origin.address] })
      await origin.stop()
      giveRoots(dataDir, dag.root.toString(), ownerOf(dataDir, account))
      const bait = directoryOf({ bait: dag })
      const [folder] = bait.blocks
      if (folder === undefined) throw new Error('the bait has no block')
      const attacker = await net.provider([folder])
      const other = await node.newAccount()
      const wanted = { cid: bait.root.toString(), origins: [attacker.address] }
      const pinning = engine.pins.pin({ account: other, ...wanted, respondAsync: true })
      expect((await pinning).record.status).not.toBe('pinned')
      await node.reached('failed')
      expect(fetchedBlocks(dataDir, other)).toBe(1)
    }))

  test('gets the blocks again from its origin if that has them', () =>
    withStillNet(async net => {
      const node = await net.node()
      const { engine, dataDir, account } = node
      const origin = await net.provider(dag.blocks)
      await engine.pins.pin({ account, cid: dag.root.toString(), origins: [origin.address] })
      giveRoots(dataDir, dag.root.toString(), ownerOf(dataDir, account))
      const other = await node.newAccount()
      const { record } = await engine.pins.pin({ account: other, cid: dag.root.toString(), origins: [origin.address] })
      expect(record).toMatchObject({ status: 'pinned', size: dag.size })
      expect(dag.blocks.map(({ cid }) => origin.blocks.count(cid))).toEqual(dag.blocks.map(() => 2))
      expect(owners(dataDir)).toEqual([ownerOf(dataDir, account), 0])
    }))

  test('gets the answers for unknown CIDs by a pin', () =>
    withEngine(async node => {
      const { engine } = node
      const other = await node.newAccount()
      for (const cid of await keepSecret(node, 4_711)) {
        expect(await codeOf(engine.pins.pin({ account: other, cid }))).toBe('CID_NOT_FOUND')
        const { record } = await engine.pins.pin({ account: other, cid, isAnew: true })
        expect(record.status).toBe('queued')
        expect(await codeOf(engine.content.stat({ cid, account: other }))).toBe('CID_NOT_FOUND')
      }
    }))

  test('gets nothing by a CAR without their blocks', () =>
    withEngine(async node => {
      const { engine } = node
      const other = await node.newAccount()
      const [secret, child] = await keepSecret(node, 4_711)
      for (const cid of [secret, child]) {
        const bait = directoryOf({ bait: { root: CID.parse(cid), blocks: [], size: 9 } satisfies Dag })
        const car = await carOf([bait.root], bait.blocks)
        expect(await codeOf(engine.pins.importCar(streamOf(car), { account: other }))).toBe('VALIDATION')
        const { roots } = await engine.pins.importCar(streamOf(car), { account: other, allowPartial: true })
        expect(roots[0]?.missing).toEqual({ blocks: 1, first: cid })
      }
    }))

  test('shares the blocks that it sends, with a root of its own', () =>
    withEngine(async node => {
      const { engine, dataDir } = node
      const other = await node.newAccount()
      const [secret] = await keepSecret(node, 4_711)
      const before = withDatabase(dataDir, db => db.prepare('SELECT COUNT(*) AS blocks FROM blocks').get())
      const { record } = await engine.pins.upload(SECRET, { account: other })
      expect(record.cid).toBe(secret)
      expect(withDatabase(dataDir, db => db.prepare('SELECT COUNT(*) AS blocks FROM blocks').get())).toEqual(before)
      expect(owners(dataDir)).toEqual([4_711, 0])
      await engine.pins.remove({ account: node.account, cid: secret })
      await engine.collect({ graceSeconds: 0 })
      expect((await engine.verify()).damaged).toEqual([])
      expect(await codeOf(engine.pins.pin({ account: await node.newAccount(), cid: secret }))).toBe('done')
    }))
})

describe('an account', () => {
  test('pins what a root of its own has', () =>
    withEngine(async node => {
      const { engine, dataDir, account } = node
      const [, child] = await keepSecret(node, ownerOf(dataDir, account))
      const other = await node.newAccount()
      expect((await engine.pins.pin({ account, cid: child })).record).toMatchObject({
        status: 'pinned',
        visibility: 'private',
      })
      expect(await codeOf(engine.pins.pin({ account: other, cid: child }))).toBe('CID_NOT_FOUND')
      await engine.pins.pin({ account, cid: child, visibility: 'public' })
      expect(await codeOf(engine.pins.pin({ account: other, cid: child }))).toBe('done')
    }))

  test('has a number that no other account and no public root has', () =>
    withEngine(async node => {
      const accounts = [node.account, await node.newAccount(), await node.newAccount()]
      const numbers = accounts.map(account => ownerOf(node.dataDir, account))
      expect(new Set(numbers).size).toBe(3)
      for (const number of numbers) expect(number).toBeGreaterThan(0)
    }))
})

describe('content whose records have ended', () => {
  test('is absent for a pin, before it is collected', () =>
    withEngine(async node => {
      const { engine, account, clock } = node
      const timelock = new Date(clock.now() + 3_600_000).toISOString()
      const { record } = await engine.pins.upload(SECRET, { account, timelock })
      const other = await node.newAccount()
      clock.advance(3_600_001)
      expect(await codeOf(engine.pins.pin({ account: other, cid: record.cid }))).toBe('CID_NOT_FOUND')
      expect((await engine.pins.pin({ account: other, cid: record.cid, isAnew: true })).record.status).toBe('queued')
    }))
})
