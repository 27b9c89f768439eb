import { once } from 'node:events'
import { connect } from 'node:net'
import { StreamCloseEvent } from '@libp2p/interface'
import { multiaddrConnectionPair } from '@libp2p/utils'
import { multiaddr } from '@multiformats/multiaddr'
import { expect, test } from 'vitest'
import { InboundPlaces, MOST_CONNECTIONS } from '../../src/network/inbound-places.ts'
import { withNodes } from './support/node.ts'

const OF_HOST = 16

function from(address: string) {
  const [, inbound] = multiaddrConnectionPair({ inbound: { remoteAddr: multiaddr(address) } })
  return inbound
}

/** Returns how many of `count` connections from a host get a place. */
function taken(places: InboundPlaces, address: (number: number) => string, count: number): number {
  return Array.from({ length: count }, (_, number) => places.take(from(address(number)))).filter(Boolean).length
}

test('one host takes at most half of the places', () => {
  const places = new InboundPlaces()
  expect(taken(places, () => '/ip4/192.0.2.1/tcp/1', MOST_CONNECTIONS)).toBe(MOST_CONNECTIONS / 2)
  expect(taken(places, () => '/ip4/192.0.2.2/tcp/1', MOST_CONNECTIONS)).toBe(OF_HOST)
})

test('addresses of one IPv6 network are one host', () => {
  const places = new InboundPlaces()
  const addresses = (number: number): string => `/ip6/2001:db8:0:1::${number.toString(16)}/tcp/1`
  expect(taken(places, addresses, MOST_CONNECTIONS)).toBe(MOST_CONNECTIONS / 2)
  expect(places.take(from('/ip6/2001:db8:0:2::1/tcp/1'))).toBe(true)
})

test('a closed connection leaves its place', () => {
  const places = new InboundPlaces()
  const connections = Array.from({ length: MOST_CONNECTIONS / 2 }, () => from('/ip4/192.0.2.1/tcp/1'))
  for (const connection of connections) expect(places.take(connection)).toBe(true)
  expect(places.take(from('/ip4/192.0.2.1/tcp/1'))).toBe(false)
  connections[0]?.dispatchEvent(new StreamCloseEvent())
  expect(places.take(from('/ip4/192.0.2.1/tcp/1'))).toBe(true)
  expect(places.take(from('/ip4/192.0.2.1/tcp/1'))).toBe(false)
})

test('silent sockets of one host leave room for handshakes of others', () =>
  withNodes([() => ({}), () => ({})], async (node, other) => {
    const [address = ''] = node.addresses()
    const port = Number(/\/tcp\/(\d+)\//.exec(address)?.[1])
    const sockets = []
    try {
      // libp2p admits five connections of a host per second.
      for (let count = 0; count < 12; count++) {
        const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
        sockets.push(socket)
        await once(socket, 'connect')
        await new Promise(resolve => setTimeout(resolve, 210))
      }
      await other.helia.libp2p.dial(multiaddr(address))
      expect(node.peerCount()).toBe(1)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  }))
