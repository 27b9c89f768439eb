import type { Connection, PeerData } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, test } from 'vitest'
import type { NetworkNode } from '../../src/network/network-node.ts'
import { withNodes } from './support/node.ts'

const DHT = '/ipfs/lan/kad/1.0.0'
const PING = '/ipfs/ping/1.0.0'

const addresses = (count: number, port = 1) =>
  Array.from({ length: count }, (_, index) => multiaddr(`/ip4/203.0.113.1/tcp/${port + index}`))

/** Stores data about another peer. Returns the record. */
function withRecord(
  data: PeerData,
  how: 'patch' | 'merge' | 'save',
  use: (node: NetworkNode, peer: NetworkNode) => Promise<void> = async () => undefined,
) {
  return withNodes([() => ({}), () => ({})], async (node, peer) => {
    const { peerStore } = node.helia.libp2p
    await peerStore[how](peer.helia.libp2p.peerId, data)
    await use(node, peer)
    return peerStore.get(peer.helia.libp2p.peerId)
  })
}

describe('the record of a peer', () => {
  test.each(['patch', 'merge', 'save'] as const)('has at most 24 addresses after a %s', async how => {
    const both = addresses(20, 100).map(address => ({ multiaddr: address, isCertified: true }))
    expect((await withRecord({ multiaddrs: addresses(20), addresses: both }, how)).addresses).toHaveLength(24)
  })

  test('does not grow by one merge after another', async () => {
    const record = await withRecord({ multiaddrs: addresses(20) }, 'merge', async (node, peer) => {
      const { peerId } = peer.helia.libp2p
      for (let port = 100; port < 200; port += 20) {
        await node.helia.libp2p.peerStore.merge(peerId, { multiaddrs: addresses(20, port) })
      }
      await node.helia.libp2p.peerStore.merge(peerId, { protocols: ['/a'] })
    })
    expect(record.addresses).toHaveLength(24)
    expect(record.protocols).toEqual(['/a'])
  })

  test('has at most 256 protocols and a short agent version', async () => {
    const protocols = ['x'.repeat(129), ...Array.from({ length: 2_000 }, (_, index) => `/${index}`)]
    const record = await withRecord({ protocols, metadata: { AgentVersion: Buffer.alloc(8_000, 'a') } }, 'patch')
    expect(record.protocols).toHaveLength(256)
    expect(record.protocols.every(name => name.length < 129)).toBe(true)
    expect(record.metadata.get('AgentVersion')).toHaveLength(256)
  })
})

/** Opens a stream and sends `bytes`. Returns the status of the stream when it ends, or after `waitMs`. */
async function sendOn(
  connection: Connection,
  protocol: string,
  bytes: number,
  { fill = 0, waitMs = 20_000 } = {},
): Promise<string> {
  const stream = await connection.newStream(protocol)
  const ended = new Promise<void>(resolve => stream.addEventListener('close', () => resolve()))
  for (let sent = 0; sent < bytes && stream.status === 'open'; sent += 16_384) {
    stream.send(Buffer.alloc(16_384, fill))
    await new Promise(resolve => setImmediate(resolve))
  }
  await Promise.race([ended, new Promise(resolve => setTimeout(resolve, waitMs))])
  const { status } = stream
  stream.abort(new Error('the test has ended'))
  return status
}

describe('a stream', () => {
  test.each([
    [PING, 48 * 1024, 'open'],
    [PING, 256 * 1024, 'reset'],
    [DHT, 512 * 1024, 'reset'],
  ])('with protocol %s and %i bytes is then %s', (protocol, bytes, status) =>
    withNodes([() => ({ config: { dht: 'server' } }), () => ({})], async (node, peer) => {
      const connection = await peer.helia.libp2p.dial(multiaddr(node.addresses()[0] ?? ''))
      const waitMs = status === 'open' ? 1_000 : 20_000
      expect(await sendOn(connection, protocol, bytes, { waitMs })).toBe(status)
      expect(node.peerCount()).toBe(1)
    }),
  )

  test('ends with a length that never ends', () =>
    withNodes([() => ({ config: { dht: 'server' } }), () => ({})], async (node, peer) => {
      const connection = await peer.helia.libp2p.dial(multiaddr(node.addresses()[0] ?? ''))
      expect(await sendOn(connection, DHT, 16_384, { fill: 0xff })).toBe('reset')
    }))
})
