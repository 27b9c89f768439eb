import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { LevelDatastore } from 'datastore-level'
import { describe, expect, test } from 'vitest'
import type { Logger } from '../../src/domain/logger.ts'
import type { NetworkConfig } from '../../src/index.ts'
import { GoodPeers } from '../../src/network/good-peers.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withNode } from './support/node.ts'

const ID = '12D3KooWD3bfmNbuuuVCYwkjnFt3ukm3qaB3hDED3peHHXawvRAi'
/** The discard port, where no server listens. */
const DEAD = `/ip4/127.0.0.1/tcp/9/p2p/${ID}`
const DAY_MS = 86_400_000

const publicNet: NetworkConfig = { preset: 'public', listen: ['/ip4/127.0.0.1/tcp/0'], bootstrap: [DEAD] }

function noting(lines: string[]): Logger {
  const note = (_: unknown, text: string): void => void lines.push(text)
  return { debug: () => undefined, info: note, warn: note, error: note }
}

/** libp2p's own peer store forgets all peers within hours. */
async function forgetPeers(dir: string): Promise<void> {
  const datastore = new LevelDatastore(join(dir, 'datastore'))
  await datastore.open()
  for await (const key of datastore.queryKeys({ prefix: '/peers/' })) await datastore.delete(key)
  await datastore.close()
}

describe('a node of the public network', () => {
  test('reconnects by a remembered peer if all bootstrap nodes are gone', () =>
    withTempDir(async dir => {
      const router: NetworkConfig = { preset: 'public', listen: ['/ip4/127.0.0.1/tcp/0'], bootstrap: [], dht: 'server' }
      await withNode(join(dir, 'router'), { config: router }, async known => {
        const own = join(dir, 'own')
        await withNode(own, { config: { ...publicNet, peers: known.addresses() } }, async node => {
          await expect.poll(() => node.peerCount()).toBe(1)
          const protocols = async () => (await node.helia.libp2p.peerStore.all()).flatMap(peer => peer.protocols)
          await expect.poll(protocols).toContain('/ipfs/kad/1.0.0')
        })
        await forgetPeers(own)
        const lines: string[] = []
        await withNode(own, { config: publicNet, logger: noting(lines) }, async node => {
          await expect.poll(() => node.peerCount()).toBe(1)
          expect(node.connections()[0]?.id).toBe(known.peerId)
          expect(node.isAlone).toBe(false)
        })
        expect(lines).toEqual([])
      })
    }))

  test('logs the loss and return of all peers once each', () =>
    withTempDir(async dir => {
      const clock = new ManualClock()
      const lines: string[] = []
      let address = ''
      const router: NetworkConfig = { preset: 'public', bootstrap: [], dht: 'server' }
      const listen = ['/ip4/127.0.0.1/tcp/0']
      await withNode(join(dir, 'router'), { config: { ...router, listen } }, async node => {
        address = node.addresses()[0] ?? ''
      })
      const config = { ...publicNet, bootstrap: [address] }
      await withNode(join(dir, 'own'), { config, clock, logger: noting(lines) }, async node => {
        expect([node.isPublic, node.isAlone]).toEqual([true, false])
        await expect.poll(() => node.isAlone).toBe(true)
        for (let round = 0; round < 10; round++) {
          clock.advance(5_000)
          await wait(50)
        }
        expect(lines.length).toBe(1)
        const again = { ...router, listen: [address.replace(/\/p2p\/.*/, '')] }
        await withNode(join(dir, 'router'), { config: again }, async () => {
          const later = (): number => {
            clock.advance(1_000)
            return node.peerCount()
          }
          await expect.poll(later, { interval: 200 }).toBe(1)
          clock.advance(60_000)
          await expect.poll(() => lines.length).toBe(2)
        })
      })
      expect(lines.map(line => line.split(':')[0])).toEqual([
        'no peers on the public network',
        'the public network has peers again',
      ])
    }))

  test('warns at its start if it uses only public bootstrap nodes', () =>
    withTempDir(async dir => {
      const lines: string[] = []
      const config: NetworkConfig = { preset: 'public', listen: ['/ip4/127.0.0.1/tcp/0'], dht: 'client' }
      await withNode(join(dir, 'a'), { config, logger: noting(lines), clock: new ManualClock() }, async () => undefined)
      expect(lines[0]).toContain('uses bootstrap nodes of other operators, which may be switched off')
    }))
})

describe('remembered peers', () => {
  const at = (network: number, host = 1): string => `/ip4/${20 + (network >> 8)}.${network & 255}.1.${host}/tcp/4001`
  // Only load() and save() use the store.
  const unused = new LevelDatastore('/nowhere')
  const note = (good: GoodPeers, i: number, address: string, now: number): boolean =>
    good.answered(`peer ${i}`, address, now)

  test('are at most two per network and 64 in all', () => {
    const good = new GoodPeers(unused)
    expect([1, 2, 3].map(i => note(good, i, at(7, i), 0))).toEqual([true, true, false])
    for (let i = 10; i < 1_000; i++) note(good, i, at(i), 0)
    expect(good.size).toBe(64)
  })

  test('are not replaced within a week of their last answer', () => {
    const good = new GoodPeers(unused)
    for (let i = 0; i < 64; i++) note(good, i, at(i), 0)
    note(good, 0, at(0), DAY_MS)
    expect(note(good, 900, at(900), 7 * DAY_MS)).toBe(false)
    expect(note(good, 900, at(900), 7 * DAY_MS + 1)).toBe(true)
    for (let i = 901; i < 1_000; i++) note(good, i, at(i), 7 * DAY_MS + 1)
    // The peer that answered a day later is still remembered.
    expect([good.size, note(good, 0, at(0, 2), 7 * DAY_MS + 1)]).toEqual([64, true])
  })

  test('survive a restart, and malformed ones are skipped', () =>
    withTempDir(async dir => {
      const store = new LevelDatastore(dir)
      await store.open()
      const good = new GoodPeers(store)
      good.answered(ID, `${at(1)}/p2p/${ID}`, 5)
      good.answered('no id', `${at(2)}/p2p/no-id`, 5)
      await good.save()
      const again = new GoodPeers(store)
      await again.load()
      expect(again.addresses().map(({ id }) => id.toString())).toEqual([ID])
      for (const text of ['', '{', '[[]]', '[{"id":1}]', `"${'x'.repeat(200_000)}"`, '[null]']) {
        for await (const key of store.queryKeys({})) await store.put(key, Buffer.from(text))
        const broken = new GoodPeers(store)
        await broken.load()
        expect(broken.size).toBe(0)
      }
      await store.close()
    }))
})
