import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { stagingOf } from '../../src/clusters/staging-backend.ts'
import { createEngine, type DirectoryEntry } from '../../src/index.ts'
import { identityOf } from '../../src/ipld/cid.ts'
import { pseudoRandom, sha256Hex } from '../support/bytes.ts'
import { newDirectory } from '../support/new-database.ts'
import { readTree, viaGateway } from '../support/read-back.ts'
import { EMPTY, storeSizes, strayBlocks } from '../support/store-inspection.ts'
import { filesIn, withTempDir } from '../support/temp-dir.ts'
import { type TwoClusters, withClusters } from '../support/two-clusters.ts'

const FILES: Record<string, Buffer> = {
  'a/large': pseudoRandom(1024 ** 2 + 90_000, 'large'),
  'a/small': pseudoRandom(500, 'small'),
  b: pseudoRandom(60_000, 'b'),
}
const HASHES = {
  a: 'dir',
  ...Object.fromEntries(Object.entries(FILES).map(([path, bytes]) => [path, sha256Hex(bytes)])),
}

async function* tree(): AsyncGenerator<DirectoryEntry> {
  for (const [path, content] of Object.entries(FILES)) yield { kind: 'file', path, content }
}

async function uploadTo({ engine, account }: TwoClusters, cluster: string): Promise<string> {
  const late = async () => ({ cluster })
  return (await engine.pins.uploadDirectory(tree(), { account, late })).record.cid
}

/** Counts the block files of both data directories. */
async function blockFiles({ dataDir, farDir }: TwoClusters): Promise<{ near: number; far: number }> {
  const count = async (dir: string): Promise<number> => (await filesIn(join(dir, 'blocks'))).length
  return { near: await count(dataDir), far: await count(farDir) }
}

describe('clusters with directories of their own', () => {
  test("content is stored in its cluster's directory only", async () => {
    await withClusters(async test => {
      const cid = await uploadTo(test, 'far')
      await test.engine.collect({ graceSeconds: 0 })
      const { far, near } = {
        far: await test.engine.clusters.backendOf('far'),
        near: await test.engine.clusters.backendOf('near'),
      }
      const statuses = await Promise.all([far, near].map(backend => backend.status(identityOf(CID.parse(cid)))))
      expect(statuses.map(({ state }) => state)).toEqual(['pinned', 'unpinned'])
      expect(await readTree(far, cid)).toEqual(HASHES)
      await expect(near.reader?.read(CID.parse(cid))).rejects.toMatchObject({ code: 'NOT_FOUND' })
      // Five file blocks and two directory blocks, none of them small enough for the database.
      expect(await blockFiles(test)).toEqual({ near: 0, far: 7 })
      expect(await storeSizes(test.dataDir)).toMatchObject({ roots: 1, small_blocks: 0, blocks: 7, tempFiles: 0 })
      expect(await strayBlocks(test.dataDir)).toEqual({ files: [], rows: [] })
      expect(
        (await viaGateway(test.engine, `/ipfs/${cid}/a/large`)).bytes.equals(FILES['a/large'] ?? Buffer.of()),
      ).toBe(true)
    })
  })

  test('the files of a directory are listed after a copy', async () => {
    await withClusters(async test => {
      const parentCid = await uploadTo(test, 'far')
      const { items, total } = await test.engine.pins.list({ account: test.account, parentCid })
      expect(total).toBe(3)
      expect(items.map(({ path, size, clusterId }) => [path, size, clusterId])).toEqual(
        Object.entries(FILES).map(([path, bytes]) => [path, bytes.length, 'far']),
      )
      await test.engine.collect({ graceSeconds: 0 })
      expect((await test.engine.pins.list({ account: test.account, parentCid })).items).toEqual(items)
      await test.engine.pins.remove({ account: test.account, cid: parentCid })
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    })
  })

  test('a copy stops with the signal and leaves nothing', async () => {
    await withClusters(async test => {
      const controller = new AbortController()
      const { staging } = stagingOf(await test.engine.clusters.backendOf('far'))
      const take = staging.take.bind(staging)
      staging.take = (cid, source, options) => {
        controller.abort()
        return take(cid, source, options)
      }
      const options = { account: test.account, cluster: 'far', signal: controller.signal }
      await expect(test.engine.pins.uploadDirectory(tree(), options)).rejects.toMatchObject({ code: 'ABORTED' })
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
      expect(await blockFiles(test)).toEqual({ near: 0, far: 0 })
    })
  })

  test('a removal unpins only in the cluster of the record', async () => {
    await withClusters(async test => {
      const { engine, account } = test
      const cid = await uploadTo(test, 'far')
      expect(await uploadTo(test, 'near')).toBe(cid)
      const usage = await engine.pins.usage(account)
      expect(usage.pins).toBe(2)
      await engine.collect({ graceSeconds: 0 })
      expect(await blockFiles(test)).toEqual({ near: 3, far: 7 })
      await engine.pins.remove({ account, cid, cluster: 'far' })
      await engine.collect({ graceSeconds: 0 })
      expect(await blockFiles(test)).toEqual({ near: 3, far: 0 })
      expect(await readTree(await engine.clusters.backendOf('near'), cid)).toEqual(HASHES)
      expect(await engine.pins.usage(account)).toEqual({ pins: 1, storedBytes: usage.storedBytes, keptBytes: 0 })
      await uploadTo(test, 'far')
      await engine.pins.remove({ account, cid, cluster: 'near' })
      await engine.collect({ graceSeconds: 0 })
      expect(await blockFiles(test)).toEqual({ near: 0, far: 7 })
      expect(await readTree(await engine.clusters.backendOf('far'), cid)).toEqual(HASHES)
      await engine.pins.remove({ account, cid })
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
      expect(await blockFiles(test)).toEqual({ near: 0, far: 0 })
    })
  })

  test('clusters that share a directory share its blocks', async () => {
    await withClusters(async test => {
      const cid = await uploadTo(test, 'far')
      expect(await uploadTo(test, 'far-too')).toBe(cid)
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toMatchObject({ roots: 1, records: 2 })
      await test.engine.pins.remove({ account: test.account, cid, cluster: 'far' })
      await test.engine.collect({ graceSeconds: 0 })
      expect(await readTree(await test.engine.clusters.backendOf('far-too'), cid)).toEqual(HASHES)
    })
  })

  test('a pin copies what another cluster holds', async () => {
    await withClusters(async test => {
      const { engine, account } = test
      const cid = await uploadTo(test, 'near')
      const { record, created } = await engine.pins.pin({ account, cid, cluster: 'far' })
      expect({ created, clusterId: record.clusterId }).toEqual({ created: true, clusterId: 'far' })
      await engine.pins.remove({ account, cid, cluster: 'near' })
      await engine.collect({ graceSeconds: 0 })
      expect(await blockFiles(test)).toEqual({ near: 0, far: 7 })
      const back = await engine.pins.pin({ account, cid, cluster: 'near' })
      expect(back.record.dagSize).toBe(record.dagSize)
      await engine.pins.remove({ account, cid, cluster: 'far' })
      await engine.collect({ graceSeconds: 0 })
      expect(await readTree(await engine.clusters.backendOf('near'), cid)).toEqual(HASHES)
      expect((await engine.pins.list({ account, parentCid: cid })).items.map(item => item.path).sort()).toEqual(
        Object.keys(FILES).sort(),
      )
    })
  })

  test('damaged content is not copied to another cluster', async () => {
    await withClusters(async test => {
      const { engine, account, dataDir } = test
      const cid = await uploadTo(test, 'near')
      const [file = ''] = await filesIn(join(dataDir, 'blocks'))
      await rm(join(dataDir, 'blocks', file))
      await expect(engine.pins.pin({ account, cid, cluster: 'far' })).rejects.toMatchObject({ code: 'BLOCK_DAMAGED' })
      await engine.collect({ graceSeconds: 0 })
      expect(await blockFiles(test)).toMatchObject({ far: 0 })
      // The upload repairs the damaged block while it is copied.
      expect(await uploadTo(test, 'far')).toBe(cid)
      expect(await readTree(await engine.clusters.backendOf('near'), cid)).toEqual(HASHES)
      expect(await readTree(await engine.clusters.backendOf('far'), cid)).toEqual(HASHES)
    })
  })

  test('a directory keeps its content across restarts, in any order of clusters', async () => {
    await withClusters(async test => {
      const cid = await uploadTo(test, 'far')
      await test.restart({ clusters: [...test.clusters].reverse() })
      expect(await readTree(await test.engine.clusters.backendOf('far'), cid)).toEqual(HASHES)
      expect((await viaGateway(test.engine, `/ipfs/${cid}/b`)).status).toBe(200)
    })
  })

  test('content of an absent cluster can be removed, and is deleted later', async () => {
    await withClusters(async test => {
      const { account, clusters } = test
      const cid = await uploadTo(test, 'far')
      await test.restart({ clusters: clusters.map((cluster, i) => (i === 0 ? cluster : { ...cluster, absent: true })) })
      expect((await test.engine.pins.list({ account })).items).toMatchObject([{ cid, clusterId: 'far' }])
      expect((await viaGateway(test.engine, `/ipfs/${cid}/b`)).status).toBe(503)
      await test.engine.pins.remove({ account, cid })
      await test.engine.collect({ graceSeconds: 0 })
      await test.engine.collect({ graceSeconds: 0 })
      await test.restart({ clusters })
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
      expect(await blockFiles(test)).toEqual({ near: 0, far: 0 })
    })
  })

  test("a cluster cannot use the engine's own directory", async () => {
    await withTempDir(async dataDir => {
      const cluster = { id: 'own', label: '', region: '', country: null, gateways: [], dataDir: join(dataDir, '.') }
      const options = { dataDir, clusters: [cluster], defaultCluster: 'own' }
      await expect(createEngine(options)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('own.dataDir'),
      })
      // The refused start has closed everything it had opened.
      await (await createEngine({ dataDir: newDirectory(dataDir) })).stop()
    })
  })
})
