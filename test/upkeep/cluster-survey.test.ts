import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { createEngine, type Engine, type EngineOptions } from '../../src/index.ts'
import { cidOf, identityOf } from '../../src/ipld/cid.ts'
import { MemoryCluster } from '../clusters/memory-cluster.ts'
import { until } from '../clusters/remote-support.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newDirectory } from '../support/new-database.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'

const CLUSTERS = ['near', 'far'].map(id => ({ id, label: '', region: '', country: null, gateways: [] }))

/** A node with a cluster that the program keeps in memory, and one account. */
class World {
  readonly cluster = new MemoryCluster()
  readonly clock = new ManualClock()
  readonly engine: Engine
  readonly account: string

  constructor(engine: Engine, account: string, cluster: MemoryCluster, clock: ManualClock) {
    this.engine = engine
    this.account = account
    this.cluster = cluster
    this.clock = clock
  }

  async statusOf(cid: string): Promise<string> {
    const [progress] = await this.engine.pins.status({ account: this.account, cid })
    return `${progress?.record.status} ${progress?.reason}`
  }

  /** Uploads contents. Returns them after all are pinned. */
  async upload(count: number): Promise<string[]> {
    const cids: string[] = []
    for (let i = 0; i < count; i++) {
      const { record } = await this.engine.pins.upload(pseudoRandom(2_000, `upload ${i}`), { account: this.account })
      cids.push(record.cid)
    }
    await this.pinned(cids)
    return cids
  }

  async pinned(cids: readonly string[]): Promise<void> {
    await until('all are pinned', async () => {
      for (const cid of cids) if ((await this.statusOf(cid)) !== 'pinned null') return false
      return true
    })
  }

  /** Pins of the cluster by CID. */
  get kept(): string[] {
    return [...this.cluster.held.values()].map(({ dag }) => cidOf(dag).toString())
  }

  /** Deletes a content from the cluster, as a fault would. */
  lose(cid: string): void {
    for (const [key, { dag }] of this.cluster.held) if (cidOf(dag).toString() === cid) this.cluster.held.delete(key)
  }

  /** Adds a pin that this node does not know. */
  add(hold: string): string {
    const dag = identityOf(CID.parse('bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'))
    this.cluster.held.set(`${hold} ${Buffer.from(dag.multihash).toString('hex')}`, { hold, dag, blocks: new Map() })
    return cidOf(dag).toString()
  }
}

function withWorld(run: (world: World) => Promise<void>, options: Partial<EngineOptions> = {}): Promise<void> {
  return withTempDir(async dir => {
    const cluster = new MemoryCluster()
    const clock = new ManualClock()
    const engine = await createEngine({
      ...{
        dataDir: newDirectory(join(dir, 'data')),
        clusters: CLUSTERS,
        defaultCluster: 'far',
        backends: { far: cluster },
        clock,
      },
      ...options,
    })
    try {
      const { id } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
      await run(new World(engine, id, cluster, clock))
    } finally {
      await engine.stop()
    }
  })
}

test('a sound cluster has no findings, and a sample is read', async () => {
  await withWorld(async world => {
    await world.upload(6)
    const { found, seen } = await world.engine.reconcile()
    expect([found, seen.placements, seen.pins, seen.samples]).toEqual([{}, 6, 6, 4])
  })
})

test('content that a cluster lost is reported, and sent again', async () => {
  await withWorld(async world => {
    const [cid = '', other = ''] = await world.upload(2)
    world.lose(cid)
    const { found, findings } = await world.engine.reconcile({ dryRun: true })
    expect([found, findings.map(({ what }) => what)]).toEqual([{ 'pin-missing': 1 }, [cid]])
    expect(await world.statusOf(cid)).toBe('pinned null')
    let isAway = true
    world.cluster.beforePin = () => {
      if (isAway) throw new Error('away')
    }
    expect((await world.engine.reconcile()).found).toEqual({ 'pin-missing': 1 })
    expect(await world.statusOf(cid)).toBe('pinning the cluster no longer has it; the node sends it again')
    expect(await world.statusOf(other)).toBe('pinned null')
    isAway = false
    await until('it is there again', () => {
      world.clock.advance(1_000)
      return world.kept.includes(cid)
    })
    await world.pinned([cid])
    expect((await world.engine.reconcile()).found).toEqual({})
  })
})

test('content that cluster and node both lost is reported as lost', async () => {
  await withWorld(async world => {
    const [cid = '', other = ''] = await world.upload(2)
    world.lose(cid)
    await rm(join(world.engine.dataDir, 'clusters', 'far', 'blocks'), { recursive: true })
    const { found, findings } = await world.engine.reconcile({ onlyClusters: true })
    expect(found).toEqual({ 'pin-missing': 1, 'pin-lost': 1 })
    expect(findings.map(({ what }) => what)).toEqual([cid, cid])
    const lost = 'the cluster no longer has it; this node has no whole copy either: upload it again'
    expect(await world.statusOf(cid)).toBe(`pinning ${lost}`)
    expect(await world.statusOf(other)).toBe('pinned null')
  })
})

test('content that only another cluster of the node has is sent again', async () => {
  await withWorld(async world => {
    const content = pseudoRandom(100_000, 'beside')
    const { account, engine, cluster } = world
    const { record } = await engine.pins.upload(content, { account })
    await world.pinned([record.cid])
    await engine.pins.upload(content, { account, cluster: 'near' })
    world.lose(record.cid)
    await rm(join(engine.dataDir, 'clusters', 'far', 'blocks'), { recursive: true })
    expect((await engine.reconcile({ onlyClusters: true })).found).toEqual({ 'pin-missing': 1 })
    await until('it is there again', () => world.kept.includes(record.cid))
    expect(cluster.blockCount).toBe(1)
  })
})

test('an earlier check does not confirm content that arrived during it', async () => {
  await withWorld(async world => {
    const isUnconfirmed = (): number | undefined =>
      withDatabase(world.engine.dataDir, db => {
        const first = db.prepare<[], { unconfirmed: number }>(
          'SELECT unconfirmed FROM roots WHERE placed_at IS NOT NULL',
        )
        return first.get()?.unconfirmed
      })
    await world.upload(1)
    await world.engine.reconcile({ onlyClusters: true })
    expect(isUnconfirmed()).toBe(1)
    world.clock.advance(1)
    await world.engine.reconcile({ onlyClusters: true, dryRun: true })
    expect(isUnconfirmed()).toBe(1)
    await world.engine.reconcile({ onlyClusters: true })
    expect(isUnconfirmed()).toBe(0)
  })
})

test('content that unreachable peers may have is not sent again', async () => {
  await withWorld(async world => {
    const cids = await world.upload(2)
    world.cluster.status = async () => ({ state: 'failed', allocations: [], isUncertain: true })
    expect((await world.engine.reconcile()).found).toEqual({})
    for (const cid of cids) expect(await world.statusOf(cid)).toBe('pinned null')
    world.cluster.status = async () => ({ state: 'failed', allocations: [] })
    expect((await world.engine.reconcile({ dryRun: true })).found).toEqual({ 'pin-missing': 2 })
  })
})

test('content that a cluster cannot return is sent again completely', async () => {
  await withWorld(async world => {
    const [cid = ''] = await world.upload(1)
    for (const { blocks } of world.cluster.held.values()) blocks.clear()
    const { found } = await world.engine.reconcile()
    expect(found).toEqual({ 'pin-unreadable': 1 })
    await world.pinned([cid])
    expect(world.cluster.blockCount).toBe(1)
    expect((await world.engine.reconcile()).found).toEqual({})
  })
})

test('an unwanted pin among few is released only with force', async () => {
  await withWorld(async world => {
    const cids = await world.upload(3)
    const stranger = world.add('cluster')
    await expect(world.engine.reconcile()).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(world.kept).toContain(stranger)
    expect((await world.engine.reconcile({ dryRun: true })).found).toEqual({ 'pin-unwanted': 1 })
    expect((await world.engine.reconcile({ force: true })).found).toEqual({ 'pin-unwanted': 1 })
    await until('it is let go of', () => !world.kept.includes(stranger))
    expect(world.kept.toSorted()).toEqual(cids.toSorted())
    // A pin with another hold does not come from this node.
    world.add('somebody')
    expect((await world.engine.reconcile({ force: true })).found).toEqual({})
    expect(world.kept).toContain(stranger)
  })
})

test('one in a hundred pins is released without force', async () => {
  await withWorld(async world => {
    const cids = await world.upload(99)
    const stranger = world.add('cluster')
    expect((await world.engine.reconcile({ onlyClusters: true })).found).toEqual({ 'pin-unwanted': 1 })
    await until('it is let go of', () => !world.kept.includes(stranger))
    expect(world.kept.toSorted()).toEqual(cids.toSorted())
  })
})

test('an unreachable cluster is reported, and its pins stay unchanged', async () => {
  await withWorld(async world => {
    const cids = await world.upload(5)
    world.add('cluster')
    world.cluster.status = async () => {
      throw new Error('away')
    }
    const { found, findings } = await world.engine.reconcile({ force: true })
    expect([found, findings[0]?.what]).toEqual([{ 'cluster-unreachable': 1 }, 'far'])
    for (const cid of cids) expect(await world.statusOf(cid)).toBe('pinned null')
  })
})
