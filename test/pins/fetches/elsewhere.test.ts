import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEngine, type EngineOptions, HoldfastError, isHoldfastError } from '../../../src/index.ts'
import { settled } from '../../../src/testing/index.ts'
import { FetchingCluster } from '../../clusters/fetching-cluster.ts'
import { MemoryCluster } from '../../clusters/memory-cluster.ts'
import { collect } from '../../support/bytes.ts'
import { planOf } from '../../support/plans.ts'
import { viaGateway } from '../../support/read-back.ts'
import { bytesIn, chargeIn, directoryOf, leaf, randomFile } from './support/dags.ts'
import { type Net, type Node, quick, unknownCid, withNet, withStillNet } from './support/net.ts'

const LEAVES = 12
const file = randomFile(LEAVES, 3_000, 'elsewhere')
const tree = directoryOf({ 'a.bin': file, 'b.txt': leaf(Buffer.from('the other file')) })
const cid = tree.root.toString()
const plans = { small: planOf({ maxStorageBytes: 20_000 }), roomy: planOf({ maxStorageBytes: 2_000_000 }) }
const cluster = { label: '', region: '', country: null, gateways: [] }
const clusters = [
  { ...cluster, id: 'near' },
  { ...cluster, id: 'far' },
]

/** Starts a node whose cluster `far` is external, and a provider of the tree. */
async function nodeWith(far: MemoryCluster, net: Net, options: Partial<EngineOptions> = {}) {
  const provider = await net.provider(tree.blocks)
  const given = { clusters, defaultCluster: 'near', backends: { far }, plans, ...options }
  const node = await net.node({ ...given, network: { peers: [provider.address] } })
  const pin = (account = node.account) => node.engine.pins.pin({ account, cid, cluster: 'far' })
  const status = async (account = node.account) => (await node.engine.pins.status({ account, cid }).catch(none))[0]
  const statusNow = async (account = node.account) => (await status(account))?.record.status
  return { provider, node, pin, status, statusNow }
}

/** Returns the bytes of the cluster's files on this node. */
function filesHere({ dataDir }: Node): number {
  const all = readdirSync(join(dataDir, 'clusters', 'far', 'blocks'), { recursive: true, withFileTypes: true })
  return all.filter(entry => entry.isFile()).length
}

async function storedBytes({ engine }: Node, account: string): Promise<number> {
  return (await engine.pins.usage(account)).storedBytes
}

/** A removed record has no status. */
const none = (error: unknown): [] => {
  if (isHoldfastError(error, 'PIN_NOT_FOUND')) return []
  throw error
}

const hanging = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

describe('a pin by CID into an external cluster', () => {
  test('is fetched by this node, counted and copied to the cluster', () =>
    withNet(async net => {
      const far = new MemoryCluster()
      const { provider, node, pin, statusNow } = await nodeWith(far, net)
      const { record, created } = await pin()
      expect([created, record.size]).toEqual([true, tree.size])
      await settled(node.engine)
      expect(await statusNow()).toBe('pinned')
      expect([far.blockCount, provider.blocks.total]).toEqual([tree.blocks.length, tree.blocks.length])
      expect(await storedBytes(node, node.account)).toBe(chargeIn(tree))
    }))

  test('is refused during the fetch once it exceeds the quota', () =>
    withNet(async net => {
      const far = new FetchingCluster()
      far.reach(tree)
      const { node, pin, status } = await nodeWith(far, net)
      const account = await node.newAccount('small')
      await expect(pin(account)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      expect([await status(account), far.jobs, await storedBytes(node, account)]).toEqual([undefined, [], 0])
    }))

  test('is not found without a provider, and the cluster is not asked', () =>
    withNet(async net => {
      const far = new FetchingCluster()
      const { node } = await nodeWith(far, net)
      const { account, engine } = node
      const asked = engine.pins.pin({ account, cid: unknownCid, cluster: 'far' })
      await expect(asked).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      expect([(await engine.pins.list({ account })).total, far.jobs]).toEqual([0, []])
    }))

  test('stops when removed during the fetch, and nothing is sent', () =>
    withNet(async net => {
      const far = new MemoryCluster()
      const { provider, node, pin, statusNow } = await nodeWith(far, net, { pin: { ...quick, waitSeconds: 0.01 } })
      provider.blocks.hangAfter(3)
      await pin()
      expect(await statusNow()).toBe('pinning')
      await node.engine.pins.remove({ account: node.account, cid })
      expect(await statusNow()).toBeUndefined()
      await provider.blocks.answerAgain()
      await node.engine.collect({ graceSeconds: 0 })
      expect([far.blockCount, filesHere(node)]).toEqual([0, 0])
    }))

  test('is unpinned in the cluster when removed during the copy', () =>
    withNet(async net => {
      const far = new MemoryCluster()
      const { promise, resolve } = Promise.withResolvers<void>()
      const asked = new EventTarget()
      const isAsked = once(asked, 'pin')
      far.beforePin = () => {
        asked.dispatchEvent(new Event('pin'))
        return promise
      }
      const { node, pin, statusNow } = await nodeWith(far, net, { pin: { ...quick, waitSeconds: 0.01 } })
      await pin()
      await isAsked
      await node.engine.pins.remove({ account: node.account, cid })
      resolve()
      await settled(node.engine)
      expect(far.held.size).toBe(0)
      expect(await statusNow()).toBeUndefined()
    }))
})

describe('an external cluster that fetches by itself', () => {
  test('fetches all blocks below the root for an unlimited plan', () =>
    withNet(async net => {
      const far = new FetchingCluster()
      far.reach(tree)
      const { provider, node, status } = await nodeWith(far, net)
      const { account, engine } = node
      const origins = [provider.address, provider.address.replace(/^\/ip4\/[^/]+/, '/dns4/localhost')]
      const { record } = await engine.pins.pin({ account, cid, cluster: 'far', origins })
      expect(record).toMatchObject({ status: 'pinned', size: tree.size, clusterId: 'far' })
      expect(node.changes).toEqual(['queued>pinning', 'pinning>pinned'])
      expect(far.jobs).toEqual([{ byItself: true, origins: [provider.address] }])
      expect([provider.blocks.total, provider.blocks.count(tree.root)]).toEqual([1, 1])
      // This node had the tree's root. The file's root is read; its leaves are only asked for their size.
      expect([far.reads, far.sized]).toEqual([1, LEAVES + 1])
      expect(await status()).toMatchObject({ blocks: tree.blocks.length, bytes: bytesIn(tree) })
      expect(await storedBytes(node, account)).toBe(chargeIn(tree))
      const listed = await engine.pins.list({ account, parentCid: cid })
      expect(listed.items.map(({ path, size }) => `${path} ${size}`).sort()).toEqual([`a.bin ${file.size}`, 'b.txt 14'])
      expect(filesHere(node)).toBeLessThan(LEAVES)
      const expected = await collect(file.blocks.slice(1).map(({ bytes }) => bytes))
      expect((await viaGateway(engine, `/ipfs/${cid}/a.bin`)).bytes.equals(expected)).toBe(true)
      const verified = await engine.verify()
      expect(verified.damaged).toEqual([])

      await engine.pins.remove({ account, cid })
      await settled(engine)
      expect(far.held.size).toBe(0)
      await engine.collect({ graceSeconds: 0 })
      expect([filesHere(node), await storedBytes(node, account)]).toEqual([0, 0])
    }))

  test('fetches nothing for a plan with a storage limit', () =>
    withNet(async net => {
      const far = new FetchingCluster()
      far.reach(tree)
      const { provider, node, pin, statusNow } = await nodeWith(far, net)
      const account = await node.newAccount('roomy')
      await pin(account)
      await settled(node.engine)
      expect(await statusNow(account)).toBe('pinned')
      expect(far.jobs).toEqual([{ byItself: false, origins: [] }])
      expect(provider.blocks.total).toBe(tree.blocks.length)
    }))

  test('hands its fetch to this node when a limited account joins', () =>
    withNet(async net => {
      const far = new FetchingCluster()
      far.reach(tree)
      far.beforeFetch = hanging
      const { provider, node, pin, statusNow } = await nodeWith(far, net, { pin: { ...quick, waitSeconds: 0.01 } })
      await pin()
      await expect.poll(() => far.jobs.length).toBe(1)
      const [small, roomy] = [await node.newAccount('small'), await node.newAccount('roomy')]
      await pin(roomy)
      await pin(small).catch(() => undefined)
      await settled(node.engine)
      expect([await statusNow(), await statusNow(roomy)]).toEqual(['pinned', 'pinned'])
      expect(await statusNow(small)).not.toBe('pinned')
      expect(provider.blocks.total).toBe(tree.blocks.length)
      expect(far.jobs.map(({ byItself }) => byItself)).toEqual([true, false])
    }))

  test('unpins an unfinished fetch when its record is removed', () =>
    withNet(async net => {
      const far = new FetchingCluster()
      far.reach(tree)
      far.beforeFetch = hanging
      const { node, pin, statusNow } = await nodeWith(far, net, { pin: { ...quick, waitSeconds: 0.01 } })
      await pin()
      await expect.poll(() => far.jobs.length).toBe(1)
      expect(await statusNow()).toBe('pinning')
      await node.engine.pins.remove({ account: node.account, cid })
      await settled(node.engine)
      expect(far.unpins).toBe(1)
      expect([await statusNow(), far.held.size]).toEqual([undefined, 0])
    }))

  test('continues after a restart without counting blocks again', () =>
    withNet(async net => {
      const far = new FetchingCluster()
      far.reach(tree)
      far.beforeSize = () => {
        if (far.sized === 5) throw new HoldfastError('UNAVAILABLE', 'not now')
      }
      const { provider, node, pin, statusNow } = await nodeWith(far, net)
      expect((await pin()).record.status).toBe('failed')
      await node.restart()
      node.clock.advance(61_000)
      await settled(node.engine)
      expect(await statusNow()).toBe('pinned')
      expect(provider.blocks.count(tree.root)).toBeLessThanOrEqual(2)
      expect(far.jobs.every(({ byItself }) => byItself)).toBe(true)
      expect(await storedBytes(node, node.account)).toBe(chargeIn(tree))
    }))

  test('unpins content that it cannot fetch in ten attempts', () =>
    withNet(async net => {
      const far = new FetchingCluster()
      const { node, pin, status } = await nodeWith(far, net)
      expect((await pin()).record.status).toBe('failed')
      for (let attempts = 1; attempts < 10; attempts++) {
        expect([far.jobs.length, far.unpins]).toEqual([attempts, 0])
        node.clock.advance(3_700_000)
        await settled(node.engine)
        expect(await status()).toMatchObject({ attempts: attempts + 1, record: { status: 'failed' } })
      }
      expect(far.unpins).toBe(1)
      expect(await status()).toMatchObject({ nextAttemptAt: null, attempts: 10 })
      expect((await status())?.lastError).toContain('it finds nobody who has it')
    }))

  test('fetches again content it lost, and must prove to have all', () =>
    withStillNet(async net => {
      const far = new FetchingCluster()
      far.reach(tree)
      const { node, pin, statusNow } = await nodeWith(far, net)
      expect((await pin()).record.status).toBe('pinned')
      const { engine, clock } = node
      const sized = far.sized
      far.held.clear()
      far.beforeSize = () => {
        throw new HoldfastError('NOT_FOUND', 'it says that it has pinned what it has not')
      }
      expect((await engine.reconcile()).found).toEqual({ 'pin-missing': 1, 'pin-lost': 1 })
      await settled(engine)
      expect([await statusNow(), far.sized > sized]).toEqual(['pinning', true])
      expect(far.jobs.map(({ byItself }) => byItself)).toEqual([true, false, true])
      far.beforeSize = () => undefined
      clock.advance(301_000)
      await settled(engine)
      expect(await statusNow()).toBe('pinned')
      expect([...far.held.values()].map(({ blocks }) => blocks.size)).toEqual([tree.blocks.length])
      expect(await storedBytes(node, node.account)).toBe(chargeIn(tree))
      await engine.pins.remove({ account: node.account, cid })
      await settled(engine)
      expect(far.held.size).toBe(0)
    }))

  test('unpins content over the quota when its plan gets a limit', () =>
    withNet(async net => {
      const far = new FetchingCluster()
      far.reach(tree)
      const { node, pin, statusNow } = await nodeWith(far, net)
      far.beforeSize = async () => {
        if (far.sized === 1) await node.engine.accounts.setPlan(node.account, 'small')
      }
      await expect(pin()).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
      await settled(node.engine)
      expect(far.held.size).toBe(0)
      expect([await statusNow(), await storedBytes(node, node.account)]).toEqual([undefined, 0])
    }))

  test('keeps content that is uploaded during its fetch', () =>
    withNet(async net => {
      const far = new FetchingCluster()
      far.beforeFetch = hanging
      const { node, pin } = await nodeWith(far, net, { pin: { ...quick, waitSeconds: 0.01 } })
      const content = file.blocks.slice(1).map(({ bytes }) => bytes)
      const { account, engine } = node
      await pin()
      await expect.poll(() => far.jobs.length).toBe(1)
      await engine.pins.pin({ account, cid, cluster: 'near' })
      const pinned = async () => (await engine.pins.list({ account, status: 'pinned' })).total
      await expect.poll(pinned).toBe(1)
      await pin()
      await expect.poll(pinned).toBe(2)
      expect(far.blockCount).toBe(tree.blocks.length)
      const expected = await collect(content)
      expect((await viaGateway(engine, `/ipfs/${cid}/a.bin`)).bytes.equals(expected)).toBe(true)
    }))
})

test('a start without networking sends nothing about waiting fetches', () =>
  withNet(async net => {
    const far = new FetchingCluster()
    far.beforeFetch = hanging
    const { node, pin } = await nodeWith(far, net, { pin: { ...quick, waitSeconds: 0.01 } })
    await pin()
    await expect.poll(() => far.jobs.length).toBe(1)
    await node.engine.stop()
    const given = { clusters, defaultCluster: 'near', backends: { far }, plans }
    const engine = await createEngine({ ...given, dataDir: node.dataDir })
    try {
      const [waiting] = await engine.pins.status({ account: node.account, cid })
      expect([waiting?.record.status, far.jobs.length, far.unpins]).toEqual(['pinning', 1, 0])
    } finally {
      await engine.stop()
    }
  }))
