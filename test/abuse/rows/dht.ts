import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { StreamHandler } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { CODEC } from '../../../src/ipld/cid.ts'
import { blockOf } from '../../pins/fetches/support/dags.ts'
import type { AbusedServer } from '../abused-server.ts'
import { flood, withHostileNode } from '../hostile-peer.ts'
import { address, field, framed, IDENTIFY, many } from '../peer-messages.ts'
import type { AbuseRow } from '../row.ts'

/** The DHT of private networks. */
const KAD = '/ipfs/lan/kad/1.0.0'
/** The server takes 32 streams of the DHT from a connection. */
const DHT_STREAMS = 30

/** Sends as many requests to a DHT server as its streams may have. Resolves when the server has ended the streams. */
function storeInDht(server: AbusedServer, make: (own: Buffer) => Buffer): Promise<number> {
  return withHostileNode({}, async libp2p => {
    const own = Buffer.from(libp2p.peerId.toMultihash().bytes)
    const connection = await libp2p.dial(multiaddr(server.peerAddress))
    const ended: Promise<unknown>[] = []
    for (let opened = 0; opened < DHT_STREAMS && connection.status === 'open'; opened++) {
      const requests = many(0, 127 * 1024, () => framed(make(own)))
      const stream = await connection.newStream(KAD)
      ended.push(once(stream, 'close', { signal: AbortSignal.timeout(10_000) }).catch(() => undefined))
      await flood(stream, Buffer.concat(requests), 1)
      // The server may have ended the stream already.
      await stream.close().catch(() => undefined)
    }
    await Promise.all(ended)
    return (await server.ask('/health')).status
  })
}

/** Sends back each ping. */
const echo: StreamHandler = async stream => {
  for await (const ping of stream) stream.send(ping)
}

/** Answers every request of the DHT with the same message. */
function answersWith(message: Uint8Array): StreamHandler {
  return async stream => {
    for await (const _ of stream) {
      for (let at = 0; at < message.length; at += 65_536) {
        if (!stream.send(message.subarray(at, at + 65_536))) await stream.onDrain()
      }
    }
  }
}

/** Lets the server ask a hostile peer of its DHT for the providers of a CID. */
function askDht(server: AbusedServer, response: Buffer): Promise<number> {
  return withHostileNode(
    { handlers: { [KAD]: answersWith(framed(response)), '/ipfs/ping/1.0.0': echo } },
    async libp2p => {
      const protocols = [IDENTIFY, KAD].map(name => field(3, Buffer.from(name)))
      const own = framed(
        Buffer.concat([field(1, libp2p.peerId.toMultihash().digest), field(2, address(1)), ...protocols]),
      )
      await libp2p.handle(IDENTIFY, async stream => {
        stream.send(own)
        await stream.close()
      })
      await libp2p.dial(multiaddr(server.peerAddress))
      await new Promise(resolve => setTimeout(resolve, 1_000))
      const { cid } = blockOf(CODEC.raw, randomBytes(32))
      await server.askJson('POST', `/api/v3/files/pin/${cid}`, {})
      return (await server.ask('/health')).status
    },
  )
}

/** Encodes an answer to any request: a provider with addresses. */
function provider(id: Uint8Array, addresses: readonly Uint8Array[]): Buffer {
  return Buffer.concat([field(1, id), ...addresses.map(bytes => field(2, bytes))])
}

const ANY_ID = Buffer.concat([Buffer.of(0x12, 0x20), randomBytes(32)])

export const rows: readonly AbuseRow[] = [
  {
    name: 'a DHT peer that answers with hundreds of thousands of addresses',
    answers: [200],
    request: server => {
      const addresses = many(0, 4_000_000, number => field(2, address(number)))
      return askDht(server, Buffer.concat([Buffer.of(8, 3), field(9, Buffer.concat([field(1, ANY_ID), ...addresses]))]))
    },
  },
  {
    name: 'a DHT peer that answers with tens of thousands of providers',
    answers: [200],
    request: server => {
      const providers = Array.from({ length: 60_000 }, (_, number) =>
        field(9, provider(Buffer.concat([Buffer.of(0x12, 0x20), randomBytes(32)]), [address(number)])),
      )
      return askDht(server, Buffer.concat([Buffer.of(8, 3), ...providers]))
    },
  },
  {
    name: 'a DHT peer that provides ten thousands of CIDs',
    answers: [200],
    longestStallMs: 500,
    request: server =>
      storeInDht(server, own => {
        const cid = Buffer.concat([Buffer.of(1, 0x55), Buffer.of(0x12, 0x20), randomBytes(32)])
        return Buffer.concat([Buffer.of(8, 2), field(2, cid), field(9, provider(own, [address(1)]))])
      }),
  },
  {
    name: 'a DHT peer that puts values which nobody asked for',
    answers: [200],
    longestStallMs: 500,
    request: server =>
      storeInDht(server, () => {
        const value = randomBytes(900)
        const key = Buffer.concat([Buffer.from('/pk/'), Buffer.of(0x12, 0x20), hash('sha256', value, 'buffer')])
        return Buffer.concat([
          Buffer.of(8, 0),
          field(2, key),
          field(3, Buffer.concat([field(1, key), field(2, value)])),
        ])
      }),
  },
]
