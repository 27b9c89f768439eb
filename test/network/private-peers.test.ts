import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, test } from 'vitest'
import { type Names, publicAddresses } from '../../src/network/public-addresses.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { hostOf, rawBlock } from './support/blocks.ts'
import { withNode, withNodes } from './support/node.ts'

const ID = '12D3KooWD3bfmNbuuuVCYwkjnFt3ukm3qaB3hDED3peHHXawvRAi'
const PUBLIC_ONLY = { allowPrivateGateways: false }
const never = new AbortController().signal
const block = rawBlock(Buffer.from('wanted'))

/** Names with scripted answers. */
function namesOf(addresses: Record<string, string[]>, texts: Record<string, string[]> = {}): Names {
  const found = (records: Record<string, string[]>) => async (name: string) => {
    const found = records[name]
    if (found === undefined) throw new Error(`${name} is not known`)
    return found
  }
  return { addresses: found(addresses), texts: found(texts) }
}

/** Runs with a local port that counts connections. */
async function withPort<T>(run: (port: number, connections: () => number) => Promise<T>, wanted = 0): Promise<T> {
  let connections = 0
  const server = createServer(socket => {
    connections++
    socket.destroy()
  }).listen(wanted, '127.0.0.1')
  await once(server, 'listening')
  try {
    return await run((server.address() as AddressInfo).port, () => connections)
  } finally {
    server.close()
  }
}

/** Requests a block from an origin that lacks it. */
async function askBy(node: Parameters<Parameters<typeof withNode>[2]>[0], origin: string): Promise<void> {
  const session = await node.open(block.cid, { origins: [origin], signal: never })
  await expect(session.get(block.cid, { signal: never })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
  session.close()
}

describe('a peer that a request names', () => {
  test('is refused at a private address, own name or unix socket', () =>
    withNodes([() => ({ config: PUBLIC_ONLY })], async node => {
      const places = [
        ...['/ip4/127.0.0.1/tcp/22', '/ip4/10.1.2.3/tcp/22', '/ip4/169.254.169.254/tcp/80', '/ip4/0.0.0.0/tcp/1'],
        ...['/ip6/::1/tcp/22', '/ip6/fe80::1/tcp/22', '/ip6/::ffff:127.0.0.1/tcp/22', '/ip6zone/lo/ip6/fe80::1/tcp/1'],
        ...['/dns4/localhost/tcp/22', '/dns/a.localhost/tcp/22', '/dnsaddr/localhost', '/unix/%2Frun%2Fdocker.sock'],
        ...['/ip4/192.168.0.1/udp/4001/quic-v1', '/ip4/127.0.0.1/tcp/80/ws'],
      ]
      for (const place of places) {
        await expect(node.open(block.cid, { origins: [`${place}/p2p/${ID}`], signal: never })).rejects.toMatchObject({
          code: 'VALIDATION',
          message: expect.stringMatching(/^origins: .*is at a private address$/),
        })
      }
    }))

  test.each<[string, (port: number) => { origin: string; names: Names }]>([
    [
      'a name',
      port => ({
        origin: `/dns4/rebound.example/tcp/${port}/p2p/${ID}`,
        names: namesOf({ 'rebound.example': ['127.0.0.1', '::1'] }),
      }),
    ],
    [
      'a dnsaddr record',
      port => ({
        origin: `/dnsaddr/rebound.example/p2p/${ID}`,
        names: namesOf({}, { '_dnsaddr.rebound.example': [`dnsaddr=/ip4/127.0.0.1/tcp/${port}/p2p/${ID}`] }),
      }),
    ],
  ])('is not dialled if %s resolves to a private address', (_, place) =>
    withPort(async (port, connections) => {
      const { origin, names } = place(port)
      await withNodes([() => ({ config: PUBLIC_ONLY, names })], node => askBy(node, origin))
      expect(connections()).toBe(0)
    }),
  )

  test.each([
    [false, 0],
    [true, 1],
  ])('is not dialled at its own private address unless allowed (%s)', (allowed, dials) =>
    withTempDir(async dir => {
      await withNodes([() => ({ config: { allowPrivateGateways: allowed } })], async node => {
        const [id, port] = await withNode(dir, { config: { peers: node.addresses() } }, async other => {
          await expect.poll(() => node.peerCount()).toBe(1)
          const known = async () => (await node.helia.libp2p.peerStore.get(other.helia.libp2p.peerId)).addresses.length
          await expect.poll(known).toBeGreaterThan(0)
          return [other.peerId, Number(/tcp\/(\d+)/.exec(String(other.addresses()))?.[1])]
        })
        await expect.poll(() => node.peerCount()).toBe(0)
        await withPort(async (_, connections) => {
          await askBy(node, `/p2p/${id}`)
          expect(Math.min(connections(), 1)).toBe(dials)
        }, port)
      })
    }),
  )

  test('may be private if configured, or if private origins are allowed', () =>
    withNodes(
      [
        () => ({ blocks: hostOf([block]) }),
        ([holder]) => ({ config: { ...PUBLIC_ONLY, peers: holder?.addresses() ?? [] } }),
        () => ({ config: { allowPrivateGateways: true } }),
      ],
      async (holder, configured, allowed) => {
        for (const node of [configured, allowed]) {
          const session = await node.open(block.cid, { origins: holder.addresses(), signal: never })
          expect(Buffer.from(await session.get(block.cid, { signal: never }))).toEqual(block.bytes)
        }
      },
    ))
})

test('the id of a configured peer admits no other private address', () =>
  withNodes(
    [() => ({}), ([known]) => ({ config: { ...PUBLIC_ONLY, peers: known?.addresses() ?? [] } })],
    async (known, node) => {
      const [own = ''] = known.addresses()
      const origins = [own, `/ip4/10.20.30.40/tcp/6379/p2p/${known.peerId}`, `/p2p/${known.peerId}`]
      expect(node.usable(origins)).toEqual([own, `/p2p/${known.peerId}`])
    },
  ))

describe('the public addresses of multiaddrs', () => {
  const names = namesOf(
    { 'two.example': ['10.0.0.1', '1.2.3.4', '2606:4700::1'], 'own.example': ['127.0.0.1'] },
    {
      '_dnsaddr.many.example': Array.from({ length: 100 }, (_, i) => `dnsaddr=/ip4/5.6.7.${i}/tcp/4001/p2p/${ID}`),
      '_dnsaddr.loop.example': ['dnsaddr=/dnsaddr/loop.example', 'something else', 'dnsaddr=nonsense'],
    },
  )
  const found = async (...addresses: string[]) => (await publicAddresses(addresses.map(multiaddr), names)).map(String)

  test('include resolved TCP addresses and exclude private ones', async () => {
    expect(await found(`/dns4/two.example/tcp/4001/p2p/${ID}`)).toEqual([
      '/ip4/1.2.3.4/tcp/4001',
      '/ip6/2606:4700::1/tcp/4001',
    ])
    const others = ['/ip4/1.2.3.4/udp/1/quic-v1', '/ip4/1.2.3.4/tcp/1/ws', `/ip4/1.2.3.4/tcp/1/p2p/${ID}/p2p-circuit`]
    expect(await found('/ip4/8.8.8.8/tcp/1', '/dns6/own.example/tcp/1', '/dns/absent.example/tcp/1')).toEqual([
      '/ip4/8.8.8.8/tcp/1',
    ])
    expect(await found(...others)).toEqual([])
  })

  test('are limited in number, and so are chains of names', async () => {
    expect(await found('/dnsaddr/many.example')).toHaveLength(16)
    expect(await found('/dnsaddr/loop.example')).toEqual([])
  })
})
