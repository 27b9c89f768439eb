import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HoldfastError } from '../../../src/index.ts'
import { Pinner } from '../../../src/pins/pinner.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { filesIn, withTempDir } from '../../support/temp-dir.ts'
import { withEngine } from '../../support/test-engine.ts'
import { randomFile } from './support/dags.ts'
import { type Node, type Provider, unknownCid, withNet } from './support/net.ts'

const dag = randomFile(4, 300_000, 'unsupplied')
const cid = dag.root.toString()

/** Runs with a node that has pinned the DAG of a provider in `near`, and whose cluster `far` has its own directory. */
function withPinned(run: (node: Node, provider: Provider) => Promise<void>): Promise<void> {
  return withTempDir(dir =>
    withNet(async net => {
      const provider = await net.provider(dag.blocks)
      const cluster = { label: '', region: '', country: null, gateways: [] }
      const clusters = [
        { ...cluster, id: 'near' },
        { ...cluster, id: 'far', dataDir: join(dir, 'far') },
      ]
      const network = { peers: [provider.address] }
      const node = await net.node({ clusters, defaultCluster: 'near', network })
      await node.engine.pins.pin({ account: node.account, cid })
      await run(node, provider)
    }),
  )
}

async function damageOne({ dataDir }: Pick<Node, 'dataDir'>): Promise<void> {
  const [file = ''] = await filesIn(join(dataDir, 'blocks'))
  await rm(join(dataDir, 'blocks', file))
}

/** Pins the DAG, and stops waiting for it after a moment. */
function pinSoon({ engine }: Node, account: string) {
  return engine.pins.pin({ account, cid, signal: AbortSignal.timeout(500) })
}

describe('a pin of content that its holder cannot supply', () => {
  test('is fetched from the network if the holder has a damaged block', () =>
    withPinned(async node => {
      await damageOne(node)
      const { engine, account } = node
      const { record } = await engine.pins.pin({ account, cid, cluster: 'far' })
      expect([record.status, record.size]).toEqual(['pinned', dag.size])
      expect((await engine.verify()).damaged.length).toBe(1)
    }))

  test('fails with the damage if the network does not have it', () =>
    withPinned(async (node, provider) => {
      await damageOne(node)
      provider.blocks.remove(dag.root)
      const { engine, account } = node
      const pinned = engine.pins.pin({ account, cid, cluster: 'far' })
      await expect(pinned).rejects.toMatchObject({ code: 'BLOCK_DAMAGED' })
      expect((await engine.pins.list({ account })).total).toBe(1)
    }))

  test('waits for the blocks that the cluster has lost', () =>
    withPinned(async (node, provider) => {
      const { engine, account } = node
      const other = await node.newAccount()
      await damageOne(node)
      provider.blocks.hangAfter(0)
      expect((await engine.reconcile()).found).toEqual({ 'block-lost': 1 })
      await node.reached('pinning')
      const again = await Promise.all([account, other].map(id => pinSoon(node, id)))
      expect(again.map(({ created, record }) => [created, record.status])).toEqual([
        [false, 'pinning'],
        [true, 'pinning'],
      ])
      await provider.blocks.answerAgain()
      await expect.poll(async () => (await engine.pins.list({ account: other })).items[0]?.status).toBe('pinned')
      expect((await engine.pins.status({ account, cid }))[0]?.record.status).toBe('pinned')
      expect((await engine.verify()).damaged).toEqual([])
    }))

  test('is not found without a network if a block is lost', () =>
    withEngine(async ({ engine, account, dataDir }) => {
      const upload = await engine.pins.upload(pseudoRandom(40_000, 'lost'), { account })
      await damageOne({ dataDir })
      expect((await engine.reconcile()).found).toEqual({ 'block-lost': 1 })
      const pinned = engine.pins.pin({ account, cid: upload.record.cid })
      await expect(pinned).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      expect((await engine.pins.list({ account })).items.map(({ status }) => status)).toEqual(['pinning'])
    }))

  test('is copied from another node, and from the network last', async () => {
    const fetched = { record: { status: 'pinning' }, created: true }
    const asked: string[] = []
    const lackOf = async (...codes: HoldfastError['code'][]) => {
      asked.length = 0
      const take = async (_: unknown, { name }: { name: string }) => {
        asked.push(name)
        throw new HoldfastError(codes.shift() ?? 'INTERNAL_ERROR', 'no block')
      }
      const parts = {
        targets: { requester: async () => ({ account: { owner: null } }), decide: () => ({ clusterId: 'near' }) },
        clusters: { backendOf: () => ({ id: 0, staging: { take } }) },
        held: { find: () => undefined },
        stored: { blocksOf: () => ({ name: 'this node' }) },
        clock: { now: () => 0 },
        network: { pin: async () => fetched },
        others: async () => ({ source: { name: 'another node' } }),
      }
      return new Pinner(parts as never).pin({ account: 'one', cid: unknownCid })
    }
    expect(await lackOf('CID_NOT_FOUND', 'UNAVAILABLE')).toBe(fetched)
    expect(asked).toEqual(['this node', 'another node'])
    await expect(lackOf('BLOCK_DAMAGED', 'QUOTA_EXCEEDED')).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    await expect(lackOf('VALIDATION')).rejects.toMatchObject({ code: 'VALIDATION' })
    expect(asked).toEqual(['this node'])
  })
})
