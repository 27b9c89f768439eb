import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { unixfs } from '@helia/unixfs'
import type { KadDHT } from '@libp2p/kad-dht'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { createEngine } from '../../../src/index.ts'
import { emptyMessage, encodeMessage } from '../../../src/network/exchange/message.ts'
import { collect, pseudoRandom } from '../../support/bytes.ts'
import { rawCid } from '../../support/content-parts.ts'
import { heliaOf, libp2pOf } from '../../support/helia.ts'
import { newDirectory } from '../../support/new-database.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { randomFile } from './support/dags.ts'
import { deadPort, type Node, quick, withNet } from './support/net.ts'

/** Returns true if `asking`, connected to one peer only, gets the block from it. */
async function gets(asking: Node, cid: string): Promise<boolean> {
  const pinned = await asking.engine.pins.pin({ account: asking.account, cid }).then(
    () => true,
    (error: { code?: string }) => {
      if (error.code === 'CID_NOT_FOUND') return false
      throw error
    },
  )
  if (pinned) {
    await asking.engine.pins.remove({ account: asking.account, cid })
    await asking.engine.collect({ graceSeconds: 0 })
  }
  return pinned
}

async function upload(node: Node, seed: string, options: { timelock?: string } = {}): Promise<string> {
  const content = pseudoRandom(3_000, seed)
  return (await node.engine.pins.upload(content, { account: node.account, name: seed, ...options })).record.cid
}

describe('the network', () => {
  test('is served pinned content only', () =>
    withNet(async net => {
      const dag = randomFile(100, 30_000, 'half way')
      const provider = await net.provider(dag.blocks)
      provider.blocks.hangAfter(81)
      const node = await net.node({ pin: { ...quick, waitSeconds: 0.01, stallSeconds: 1e6 } })
      const asking = await net.node({
        network: { peers: await node.engine.addresses() },
        pin: { findTimeoutSeconds: 60 },
      })
      const { account } = node

      const pinned = await upload(node, 'pinned')
      expect(await gets(asking, pinned)).toBe(true)

      const removed = await upload(node, 'removed')
      await node.engine.pins.remove({ account, cid: removed })
      expect(await gets(asking, removed)).toBe(false)

      const timelock = new Date(node.clock.now() + 3_600_000).toISOString()
      const expiring = await upload(node, 'expiring', { timelock })
      expect(await gets(asking, expiring)).toBe(true)
      node.clock.advance(3_600_001)
      expect(await gets(asking, expiring)).toBe(false)

      const cid = dag.root.toString()
      await node.engine.pins.pin({ account, cid, origins: [provider.address] })
      await expect.poll(async () => (await node.engine.pins.status({ account, cid }))[0]?.blocks).toBeGreaterThan(40)
      for (const block of dag.blocks.slice(0, 3)) expect(await gets(asking, block.cid.toString())).toBe(false)
      await provider.blocks.answerAgain()
      await node.reached('pinned')
      expect(await gets(asking, cid)).toBe(true)

      const own = await unixfs(await node.engine.helia()).addBytes(pseudoRandom(100, 'own'))
      expect(await gets(asking, own.toString())).toBe(false)
      expect(await gets(asking, pinned)).toBe(true)
    }))

  test('is off by default in an embedded engine', () =>
    withTempDir(async dataDir => {
      const engine = await createEngine({ dataDir: newDirectory(dataDir) })
      try {
        expect(await engine.addresses()).toEqual([])
        await expect(engine.helia()).rejects.toEqual(expect.objectContaining({ code: 'UNAVAILABLE' }))
        const { id } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
        const [cid] = randomFile(1, 10, 'off').blocks.map(block => block.cid.toString())
        const pinning = engine.pins.pin({ account: id, cid: cid ?? '', origins: [deadPort] })
        await expect(pinning).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      } finally {
        await engine.stop()
      }
    }))

  test('listens on loopback only and dials nobody by default', () =>
    withNet(async net => {
      const node = await net.node()
      for (const address of await node.engine.addresses()) expect(address).toMatch(/^\/ip4\/127\.0\.0\.1\//)
      expect((await libp2pOf(node.engine)).getDialQueue()).toEqual([])
      expect((await libp2pOf(node.engine)).getPeers()).toEqual([])
    }))
})

describe('Helia on an engine', () => {
  test('reads pinned content, and fetches content of peers', () =>
    withNet(async net => {
      const content = pseudoRandom(3_000_000, 'read by helia')
      const remote = randomFile(5, 10_000, 'remote')
      const provider = await net.provider(remote.blocks)
      const node = await net.node({ network: { peers: [provider.address] } })
      const { record } = await node.engine.pins.upload(content, { account: node.account, name: 'content' })
      const fs = unixfs(await node.engine.helia())
      expect(await collect(fs.cat(CID.parse(record.cid)))).toEqual(content)
      expect((await collect(fs.cat(remote.root))).length).toBe(50_000)
      // Blocks fetched for the host program are not pinned.
      expect((await node.engine.pins.usage(node.account)).pins).toBe(1)
    }))

  test('cannot delete blocks of a record, by block, pin or gc', () =>
    withNet(async net => {
      const node = await net.node()
      const content = pseudoRandom(2_500_000, 'kept from helia')
      const { record } = await node.engine.pins.upload(content, { account: node.account, name: 'content' })
      const helia = await heliaOf(node.engine)
      const cid = CID.parse(record.cid)
      await expect(helia.blockstore.delete(cid)).rejects.toThrow('a pin needs block')
      await helia.gc()
      expect((await node.engine.verify()).damaged).toEqual([])
      const fs = unixfs(helia)
      expect(await collect(fs.cat(cid))).toEqual(content)
      await node.engine.collect({ graceSeconds: 0 })
      expect(await collect(fs.cat(cid))).toEqual(content)
    }))
})

describe('a peer that opens a stream for each message', () => {
  test('leaves no streams behind', () =>
    withNet(async net => {
      const node = await net.node()
      const peer = await net.node({ network: { peers: await node.engine.addresses() } })
      const cid = CID.parse(await upload(node, 'asked for often'))
      const there = await libp2pOf(node.engine)
      await expect.poll(() => there.getConnections().length).toBe(1)
      const [connection] = (await libp2pOf(peer.engine)).getConnections()
      const want = { cid: cid.bytes, cancel: false, presence: true, sendDontHave: true }
      const message = Buffer.concat(encodeMessage({ ...emptyMessage(), wants: [want] }))
      // With a slow disk the end of a stream is handled before its start.
      const merge = there.peerStore.merge.bind(there.peerStore)
      there.peerStore.merge = async (...args) => {
        for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
        return merge(...args)
      }
      const send = async (): Promise<void> => {
        const stream = await connection?.newStream('/ipfs/bitswap/1.2.0')
        stream?.send(message)
        await stream?.close()
      }
      const inbound = () =>
        there.getConnections().flatMap(({ streams }) => streams.filter(({ direction }) => direction === 'inbound'))
      for (let round = 0; round < 10; round++) {
        await Promise.all(Array.from({ length: 20 }, send))
        // More than 64 concurrent streams would be refused.
        await expect.poll(() => inbound().length).toBe(0)
      }
    }))
})

describe('with a configured router', () => {
  test('pinned content is announced, found and announced again in time', () =>
    withNet(async net => {
      const pin = { ...quick, findTimeoutSeconds: 20 }
      const router = await net.node({ network: { dht: 'server' } })
      const peers = await router.engine.addresses()
      const holder = await net.node({ network: { dht: 'server', peers } })
      const seeker = await net.node({ network: { dht: 'client', peers }, pin })
      await expect.poll(async () => (await libp2pOf(router.engine)).getPeers().length).toBe(2)
      const bytes = Buffer.from('taken down')
      const bad = (await rawCid(bytes)).toString()
      await holder.engine.takedowns.add({ cid: bad, reason: 'test' })
      await holder.engine.pins.upload(bytes, { account: holder.account })
      const cid = await upload(holder, 'announced')
      const announcedAt = async (of = cid): Promise<number> =>
        (await holder.engine.pins.status({ account: holder.account, cid: of }))[0]?.announcedAt ?? 0
      const afterSearch =
        (of = cid) =>
        async (): Promise<number> => {
          // The next search repeats an announcement that failed. A longer step would also end the one that it starts.
          holder.clock.advance(600_000)
          return announcedAt(of)
        }
      // Each look ends the announcement under way, so a slow machine needs time between two looks.
      const patience = { timeout: 60_000, interval: 2_000 }
      await expect.poll(afterSearch(), patience).toBeGreaterThan(0)
      const first = await announcedAt()
      const { record } = await seeker.engine.pins.pin({ account: seeker.account, cid })
      expect(record.status).toBe('pinned')
      holder.clock.advance(22 * 3_600_000)
      await expect.poll(afterSearch(), patience).toBeGreaterThan(first)
      expect(await announcedAt(bad)).toBe(0)
      await holder.engine.takedowns.remove({ cid: bad })
      await expect.poll(afterSearch(bad), patience).toBeGreaterThan(0)
    }))

  test('a node with a new identity announces all roots again at once', () =>
    withNet(async net => {
      const router = await net.node({ network: { dht: 'server' } })
      const peers = await router.engine.addresses()
      const holder = await net.node({ network: { dht: 'server', peers } })
      const cid = await upload(holder, 'announced by two')
      const { dht } = (await libp2pOf(router.engine)).services as { dht: KadDHT }
      const providers = async (): Promise<string[]> => {
        holder.clock.advance(1_000)
        const found: string[] = []
        for await (const event of dht.findProviders(CID.parse(cid), { signal: AbortSignal.timeout(5_000) })) {
          if (event.name === 'PROVIDER') found.push(...event.providers.map(({ id }) => id.toString()))
        }
        return found
      }
      const idOf = async (): Promise<string> => (await libp2pOf(holder.engine)).peerId.toString()
      const old = await idOf()
      await expect.poll(providers, { interval: 200 }).toContain(old)
      await holder.engine.stop()
      await rm(join(holder.dataDir, 'datastore'), { recursive: true })
      await holder.restart()
      expect(await idOf()).not.toBe(old)
      await expect.poll(providers, { interval: 200 }).toContain(await idOf())
    }))
})
