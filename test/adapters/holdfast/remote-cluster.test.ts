import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../../adapters/postgres/index.ts'
import { moveCatalogue } from '../../../src/index.ts'
import { OtherNode } from '../../clusters/other-node.ts'
import { statusOf, type TwoNodes, type TwoNodesOptions, until, withTwoNodes } from '../../clusters/remote-support.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { type Fleet, type FleetNode, withFleet } from '../../support/fleet.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { viaGateway } from '../../support/read-back.ts'
import { withDatabase } from '../../support/store-inspection.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const CONTENT = pseudoRandom(2 * 1024 ** 2 + 1_000, 'remote')

async function upload({ here, account }: TwoNodes, content = CONTENT): Promise<string> {
  const { record } = await here.pins.upload(content, { account, cluster: 'far', name: 'file' })
  return record.cid
}

function blocksThere({ there }: TwoNodes): Promise<number> {
  return there.engine.collect({ graceSeconds: 0 }).then(() => countBlocks(there.dataDir))
}

function countBlocks(dataDir: string): number {
  return withDatabase(dataDir, db => {
    return db.prepare<[], { count: number }>('SELECT COUNT(*) AS count FROM blocks').get()?.count ?? -1
  })
}

/** Returns the number of the cluster's block files on this disk. */
async function filesHere({ dir }: TwoNodes): Promise<number> {
  const files = await readdir(join(dir, 'here', 'clusters', 'far', 'blocks'), { recursive: true })
  return files.filter(name => name.endsWith('.data')).length
}

async function recordsThere({ there }: TwoNodes): Promise<number> {
  return (await there.engine.pins.list({ account: there.account })).total
}

/** Defines tests that must pass with any catalogue. */
function remoteClusterTests(withNodes: typeof withTwoNodes): void {
  test('pins, reads and unpins content through the other node', async () => {
    await withNodes(async nodes => {
      const cid = await upload(nodes)
      await until('it is pinned', async () => (await statusOf(nodes, cid)) === 'pinned')
      expect(await recordsThere(nodes)).toBe(1)
      expect(await blocksThere(nodes)).toBe(4)
      const isGone = async (): Promise<boolean> => {
        const { damaged } = await nodes.here.verify()
        expect(damaged).toEqual([])
        await nodes.here.collect({ graceSeconds: 0 })
        return (await filesHere(nodes)) === 0
      }
      // The grace is zero, but no check has confirmed the content yet.
      await isGone()
      expect(await isGone()).toBe(false)
      await nodes.here.reconcile({ onlyClusters: true })
      await until('nothing of it is on this disk', isGone)
      const { status, bytes } = await viaGateway(nodes.here, `/ipfs/${cid}`)
      expect(status).toBe(200)
      expect(bytes.equals(CONTENT)).toBe(true)
      await nodes.here.pins.remove({ account: nodes.account, cid })
      await until('the other has let go', async () => (await recordsThere(nodes)) === 0)
      expect(await blocksThere(nodes)).toBe(0)
      await nodes.here.collect({ graceSeconds: 0 })
      expect(countBlocks(join(nodes.dir, 'here'))).toBe(0)
    })
  })

  test('keeps a local copy for the grace, then a cache', async () => {
    const clock = new ManualClock()
    const run = async (nodes: TwoNodes): Promise<void> => {
      const cid = await upload(nodes)
      await until('it is pinned', async () => (await statusOf(nodes, cid)) === 'pinned')
      clock.advance(1)
      await nodes.here.reconcile({ onlyClusters: true })
      clock.advance(86_398_999)
      await nodes.restart()
      await nodes.here.collect({ graceSeconds: 0 })
      // The cache is trimmed by the end of the next collection.
      await nodes.here.collect({ graceSeconds: 0 })
      expect(await filesHere(nodes)).toBe(4)
      nodes.there.asked.length = 0
      expect((await viaGateway(nodes.here, `/ipfs/${cid}`)).bytes.equals(CONTENT)).toBe(true)
      expect(nodes.there.asked.filter(line => line.includes('/ipfs/'))).toEqual([])
      clock.advance(1_000)
      await until('nothing of it is on this disk', async () => {
        await nodes.here.collect({ graceSeconds: 0 })
        return (await filesHere(nodes)) === 0
      })
      expect((await viaGateway(nodes.here, `/ipfs/${cid}`)).bytes.equals(CONTENT)).toBe(true)
    }
    await withNodes(run, { localGraceSeconds: 86_400, options: { clock } })
  })

  test('shares content of two clusters on one backend until the last record', async () => {
    await withNodes(async nodes => {
      const { here, account } = nodes
      const cid = await upload(nodes)
      await until('it is pinned', async () => (await statusOf(nodes, cid)) === 'pinned')
      const { record } = await here.pins.upload(CONTENT, { account, cluster: 'far-too', name: 'again' })
      expect([record.cid, record.status]).toEqual([cid, 'pinned'])
      expect(await recordsThere(nodes)).toBe(1)
      await here.pins.remove({ account, cid, cluster: 'far' })
      nodes.there.asked.length = 0
      // When a later upload has arrived, all earlier jobs are done.
      const other = await here.pins.upload(Buffer.from('other'), { account, cluster: 'far-too' })
      await until('it is pinned', async () => (await statusOf(nodes, other.record.cid)) === 'pinned')
      expect(nodes.there.asked.filter(line => line.startsWith('DELETE'))).toEqual([])
      expect((await viaGateway(here, `/ipfs/${cid}`)).bytes.equals(CONTENT)).toBe(true)
      await here.pins.remove({ account, cid })
      await until('the other has let go', async () => (await recordsThere(nodes)) === 1)
    })
  })
}

describe('a cluster on another node', () => {
  remoteClusterTests(withTwoNodes)
})

describe('a cluster on another node, with a catalogue in PostgreSQL', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  remoteClusterTests(async (run, given: TwoNodesOptions = {}) => {
    const database = await server.migrated()
    await withTwoNodes(run, { ...given, options: { ...given.options, database } })
  })

  test('keeps its placements when the catalogue moves', async () => {
    await withTwoNodes(async nodes => {
      const cid = await upload(nodes)
      await until('it is pinned', async () => (await statusOf(nodes, cid)) === 'pinned')
      await nodes.here.stop()
      const database = await server.migrated()
      await moveCatalogue({ dataDir: join(nodes.dir, 'here'), to: database, catalogue: postgres })
      const here = await nodes.restart({ database })
      expect((await viaGateway(here, `/ipfs/${cid}`)).bytes.equals(CONTENT)).toBe(true)
      await here.pins.remove({ account: nodes.account, cid })
      await until('the other has let go', async () => (await recordsThere(nodes)) === 0)
    })
  })

  /** Runs a test with two nodes of a fleet. The other system keeps the cluster `second` of the node `b`. */
  const withFarCluster = (run: (fleet: Fleet, there: OtherNode) => Promise<void>): Promise<void> =>
    withTempDir(async dir => {
      await using there = await new OtherNode(join(dir, 'there')).start()
      const keyFile = join(dir, 'key')
      await writeFile(keyFile, there.key, { mode: 0o600 })
      const far = { type: 'holdfast' as const, url: there.url, cluster: 'cl1-eu', keyFile }
      const backend = { ...far, cacheBytes: 0, localGraceSeconds: 0 }
      const cluster = { label: '', region: '', country: null, gateways: [] }
      const clusters = [
        { ...cluster, id: 'first', node: 'a' },
        { ...cluster, id: 'second', node: 'b', backend },
      ]
      await withFleet(await server.migrated(), fleet => run(fleet, there), { clusters })
    })

  /** Uploads through the node `a`. Returns the CID after the cluster has pinned it. */
  const uploadFar = async ({ a, account, key }: Fleet): Promise<string> => {
    const form = new FormData()
    form.set('cl', 'second')
    form.set('file', new Blob([new Uint8Array(CONTENT)]), 'file')
    const answer = await fetch(`${a.url}/api/v3/files`, { method: 'POST', headers: { 'x-api-key': key }, body: form })
    expect(answer.status).toBe(201)
    const { cid } = (await answer.json()) as { cid: string }
    const status = async () => (await a.engine.pins.status({ account, cid }))[0]?.record.status
    await until('it is pinned', async () => (await status()) === 'pinned')
    return cid
  }

  test('gets placements from its own node of a fleet', async () => {
    await withFarCluster(async (fleet, there) => {
      const { a, b, account } = fleet
      const cid = await uploadFar(fleet)
      const kept = async () => (await there.engine.pins.list({ account: there.account })).total
      expect(await kept()).toBe(1)
      await b.engine.collect({ graceSeconds: 0 })
      expect((await viaGateway(a.engine, `/ipfs/${cid}`)).bytes.equals(CONTENT)).toBe(true)
      await a.engine.pins.remove({ account, cid })
      await until('the other has let go', async () => (await kept()) === 0)
    })
  })

  test('is checked by its own node, and all nodes tell the truth', async () => {
    await withFarCluster(async (fleet, there) => {
      const { a, b, key } = fleet
      const cid = await uploadFar(fleet)
      const told = async ({ url }: FleetNode) =>
        (await fetch(`${url}/api/v3/status/${cid}`, { headers: { 'x-api-key': key } })).text()
      // Both nodes keep their answers in memory.
      for (const node of [a, b]) expect(await told(node)).toContain('"status":"pinned"')

      await there.engine.pins.remove({ account: there.account, cid })
      await rm(join(b.dataDir, 'clusters', 'second', 'blocks'), { recursive: true })
      // The other node still has the blocks, so that the first attempt would soon repair the pin.
      there.gate = ({ method }) => (method === 'POST' ? new Promise(() => undefined) : undefined)
      // The node of another cluster has nothing to check.
      expect((await a.engine.reconcile({ onlyClusters: true })).found).toEqual({})
      expect((await b.engine.reconcile({ onlyClusters: true })).found).toMatchObject({ 'pin-missing': 1 })
      for (const node of [a, b]) {
        expect(await told(node)).toContain('"status":"pinning"')
        expect(await told(node)).toContain('the cluster no longer has it')
      }
    })
  })
})
