import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ClusterDefinition } from '../../src/domain/cluster.ts'
import { createEngine, type Engine, type EngineOptions, openAccounts } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { viaGateway } from '../support/read-back.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'

const PLAIN = { label: '', region: '', country: null, gateways: [] }
const CONTENTS = 120

type Cluster = Partial<ClusterDefinition> & { id: string }

/** A node with content in the cluster `far`, which has a directory of its own. */
class Node {
  readonly dir: string
  readonly cids: string[] = []
  account = ''

  constructor(dir: string) {
    this.dir = dir
  }

  path(name: string): string {
    return join(this.dir, name)
  }

  options(...clusters: Cluster[]): EngineOptions {
    const all = [{ id: 'near' }, ...clusters].map(cluster => ({ ...PLAIN, ...cluster }))
    return { dataDir: this.path('data'), clusters: all, defaultCluster: 'near' }
  }

  async running<T>(clusters: Cluster[], work: (engine: Engine) => Promise<T>): Promise<T> {
    const engine = await createEngine(this.options(...clusters))
    try {
      return await work(engine)
    } finally {
      await engine.stop()
    }
  }

  async fill(count: number, ...clusters: Cluster[]): Promise<void> {
    await this.running(clusters, async engine => {
      this.account = (await engine.accounts.ensureOwner()).account.id
      const upload = (i: number) => {
        const content = pseudoRandom(2_000, `content ${this.cids.length + i}`)
        return engine.pins.upload(content, { account: this.account, cluster: 'far' })
      }
      const made = await Promise.all(Array.from({ length: count }, (_, i) => upload(i)))
      this.cids.push(...made.map(({ record }) => record.cid))
    })
  }

  async statuses(engine: Engine): Promise<number[]> {
    const answers = await Promise.all(this.cids.map(cid => viaGateway(engine, `/ipfs/${cid}`)))
    return answers.map(({ status }) => status)
  }

  /** Runs every operation that may release content, with the right directory. */
  async expectWhole(...clusters: Cluster[]): Promise<void> {
    await this.running(clusters, async engine => {
      expect((await engine.reconcile({ force: true })).found).toEqual({})
      await engine.collect({ graceSeconds: 0 })
      expect((await engine.verify()).damaged).toEqual([])
      expect(await this.statuses(engine)).toEqual(this.cids.map(() => 200))
    })
  }
}

/** Declares the cluster absent, and runs every operation that may release its content. */
async function runAbsent(node: Node, ...clusters: Cluster[]): Promise<void> {
  await node.running(clusters, async engine => {
    expect((await engine.reconcile({ force: true })).found).toEqual({})
    await engine.collect({ graceSeconds: 0 })
    expect((await engine.verify()).damaged).toEqual([])
    const [status] = await engine.pins.status({ account: node.account, cid: node.cids[0] ?? '' })
    expect(status?.record.status).toBe('pinned')
    expect(await node.statuses(engine)).toEqual(node.cids.map(() => 503))
  })
}

type Mistake = (node: Node) => Promise<void>

async function expectRefused(node: Node, code: string, ...clusters: Cluster[]): Promise<void> {
  const refusal = { code, message: expect.stringMatching(/far.*absent: true/s) }
  await expect(createEngine(node.options(...clusters))).rejects.toMatchObject(refusal)
}

const MISTAKES: Record<string, Mistake> = {
  'another, empty directory': node => expectRefused(node, 'CONFIG_INVALID', { id: 'far', dataDir: node.path('other') }),
  'a relative path resolved elsewhere': node =>
    expectRefused(node, 'CONFIG_INVALID', { id: 'far', dataDir: 'no-such' }),
  'no dataDir any more': node => expectRefused(node, 'CONFIG_INVALID', { id: 'far' }),
  'the cluster removed': node => expectRefused(node, 'CONFIG_INVALID'),
  'an unmounted directory': async node => {
    await rename(node.path('far'), node.path('aside'))
    await mkdir(node.path('far'))
    await expectRefused(node, 'DATA_DIR_UNUSABLE', { id: 'far', dataDir: node.path('far') })
    await rm(node.path('far'), { recursive: true })
    await rename(node.path('aside'), node.path('far'))
  },
  'absent, without a directory': async node => {
    await rename(node.path('far'), node.path('aside'))
    await runAbsent(node, { id: 'far', dataDir: node.path('far'), absent: true })
    await rename(node.path('aside'), node.path('far'))
  },
  'absent, with another directory': node => runAbsent(node, { id: 'far', dataDir: node.path('other'), absent: true }),
}

const ORDERS = Object.keys(MISTAKES).map(first => [first, ...Object.keys(MISTAKES).filter(other => other !== first)])

describe('a wrong directory of a cluster', () => {
  test('loses nothing, in any order of mistakes', { timeout: 120_000 }, async () => {
    await withTempDir(async dir => {
      const node = new Node(dir)
      const right = { id: 'far', dataDir: node.path('far') }
      await node.fill(CONTENTS, right)
      for (const order of ORDERS) {
        for (const name of order) {
          await MISTAKES[name]?.(node)
          expect(await rm(node.path('other'), { recursive: true }).catch(() => 'nothing made')).toBe('nothing made')
        }
        await node.expectWhole(right)
      }
    })
  })

  test('that took uploads is named beside the right one', async () => {
    await withTempDir(async dir => {
      const node = new Node(dir)
      const right = { id: 'far', dataDir: node.path('far') }
      const wrong = { id: 'far', dataDir: node.path('other') }
      await node.fill(10, right)
      // As an earlier version would, started with the wrong directory.
      withDatabase(node.path('data'), db => db.prepare(`UPDATE backends SET cluster_ids = 'ghost'`).run())
      await node.fill(5, wrong, { id: 'ghost', absent: true })
      await expectRefused(node, 'CONFIG_INVALID', right)
      await expectRefused(node, 'DATA_DIR_UNUSABLE', { ...right, alsoIn: [node.path('nowhere')] })
      const both = { ...right, alsoIn: [node.path('other')] }
      await node.fill(5, both)
      await node.expectWhole(both)
      const rows = withDatabase(node.path('data'), db =>
        db.prepare(`SELECT backend_id AS id, COUNT(*) AS count FROM roots WHERE state = 'complete' GROUP BY 1`).all(),
      )
      expect(rows).toEqual([
        { id: 1, count: 15 },
        { id: 2, count: 5 },
      ])
      withDatabase(node.path('data'), db =>
        db.prepare('DELETE FROM holds WHERE root_id = (SELECT MAX(id) FROM roots WHERE backend_id = 2)').run(),
      )
      await node.running([both], async engine => {
        expect((await engine.reconcile()).found).toEqual({ 'record-unheld': 1 })
      })
      await node.expectWhole(both)
      // An empty directory need not be named.
      await node.running([both], async engine => {
        for (const cid of node.cids.splice(10, 5)) await engine.pins.remove({ account: node.account, cid })
        await engine.collect({ graceSeconds: 0 })
      })
      await node.expectWhole(right)
    })
  })

  test('is refused to a command without the configuration', async () => {
    await withTempDir(async dir => {
      const node = new Node(dir)
      await node.fill(2, { id: 'far', dataDir: node.path('far') })
      const options = { dataDir: node.path('data') }
      await expect(createEngine(options)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('--config'),
      })
    })
  })
})

/** Files that the first start of 0.3.0 deleted. */
const FOREIGN = [
  'tmp/0e984725-c51c-4bf4-9960-e1c80e27aba0',
  'blocks/0e984725-c51c-4bf4-9960-e1c80e27aba0',
  'blocks/WI/CIQLXTIZVUNKADRJI2HYHXJQIFBNL5TTB7H7NKMK2XBHE3QKUO7IGWI.data',
]

describe('files that no database lists', () => {
  test.each(FOREIGN)('%s refuses a first start, and stays', async name => {
    await withTempDir(async dir => {
      const [data, cluster] = [join(dir, 'data'), join(dir, 'cluster')]
      for (const directory of [data, cluster]) {
        await mkdir(dirname(join(directory, name)), { recursive: true })
        await writeFile(join(directory, name), 'not of this node')
      }
      const refused = { code: 'DATA_DIR_UNUSABLE', message: expect.stringContaining(`${dirname(name).split('/')[0]}/`) }
      await expect(createEngine({ dataDir: data })).rejects.toMatchObject(refused)
      expect(() => openAccounts({ dataDir: data })).toThrow(expect.objectContaining(refused))
      const clusters = [{ ...PLAIN, id: 'far', dataDir: cluster }]
      await expect(createEngine({ dataDir: join(dir, 'new'), clusters, defaultCluster: 'far' })).rejects.toMatchObject(
        refused,
      )
      for (const directory of [data, cluster]) {
        expect(await readFile(join(directory, name), 'utf8')).toBe('not of this node')
      }
    })
  })

  test('are absent in empty stores, which a first start takes', async () => {
    await withTempDir(async dir => {
      for (const name of ['blocks/WI', 'tmp', 'lost+found']) await mkdir(join(dir, name), { recursive: true })
      await (await createEngine({ dataDir: dir })).stop()
    })
  })
})

describe('an absent cluster', () => {
  test('refuses uploads, allows deletes and leaves other clusters alone', async () => {
    await withTempDir(async dir => {
      const node = new Node(dir)
      const right = { id: 'far', dataDir: node.path('far') }
      await node.fill(3, right)
      const gone = node.cids.pop() ?? ''
      await node.running([{ ...right, absent: true }], async engine => {
        const { account } = node
        const content = pseudoRandom(2_000, 'near')
        await expect(engine.pins.upload(content, { account, cluster: 'far' })).rejects.toMatchObject({
          code: 'UNAVAILABLE',
        })
        const late = async () => ({ cluster: 'far' })
        await expect(engine.pins.upload(content, { account, late })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
        await engine.accounts.setDefaultCluster(account, 'far')
        await expect(engine.pins.upload(content, { account })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
        await engine.accounts.setDefaultCluster(account, null)
        const { record } = await engine.pins.upload(content, { account })
        expect((await viaGateway(engine, `/ipfs/${record.cid}`)).status).toBe(200)
        expect(await engine.pins.list({ account })).toMatchObject({ total: 4 })
        await engine.pins.remove({ account, cid: gone })
        await engine.collect({ graceSeconds: 0 })
        expect((await viaGateway(engine, `/ipfs/${gone}`)).status).toBe(404)
        expect((await viaGateway(engine, `/ipfs/${node.cids[0]}`)).status).toBe(503)
      })
      await node.expectWhole(right)
    })
  })
})
