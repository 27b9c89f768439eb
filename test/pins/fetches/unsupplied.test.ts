import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HoldfastError } from '../../../src/index.ts'
import { Pinner } from '../../../src/pins/pinner.ts'
import { filesIn, withTempDir } from '../../support/temp-dir.ts'
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

async function damageOne({ dataDir }: Node): Promise<void> {
  const [file = ''] = await filesIn(join(dataDir, 'blocks'))
  await rm(join(dataDir, 'blocks', file))
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
        targets: { requester: async () => ({}), decide: () => ({ clusterId: 'near' }) },
        clusters: { backendOf: () => ({ id: 0, staging: { take } }), readerOf: () => ({ name: 'this node' }) },
        held: { find: () => undefined, locate: () => ({ backendId: 1 }) },
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
