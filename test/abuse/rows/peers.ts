import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { StreamHandler } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { CODEC } from '../../../src/ipld/cid.ts'
import { varintBytes } from '../../../src/ipld/varint.ts'
import { blockOf } from '../../pins/fetches/support/dags.ts'
import type { AbusedServer } from '../abused-server.ts'
import { lines, withHostileNode } from '../hostile-peer.ts'
import type { AbuseRow } from '../row.ts'

const IDENTIFY = '/ipfs/id/1.0.0'
/** The DHT of private networks. */
const KAD = '/ipfs/lan/kad/1.0.0'
const BITSWAP = '/ipfs/bitswap/1.2.0'
const IDENTIFY_BYTES = 8 * 1024
const IDENTIFY_MESSAGES = 10
const STREAMS = 100
/** Hosts of attackers. Other peers connect from 127.0.0.1. */
const ATTACKER = '127.0.0.2'

function field(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([varintBytes((number << 3) | 2), varintBytes(bytes.length), bytes])
}

function framed(message: Uint8Array): Buffer {
  return Buffer.concat([varintBytes(message.length), message])
}

/** Encodes a different address with a port for each number. */
function address(number: number): Buffer {
  return Buffer.concat([Buffer.of(4, 203, 0, 113, number >> 16), Buffer.of(6, (number >> 8) & 0xff, number & 0xff)])
}

/** Fills a message with fields, each made from its number. Numbers continue from `first`. */
function many(first: number, most: number, make: (number: number) => Buffer): Buffer[] {
  const fields: Buffer[] = []
  for (let bytes = 0, number = first; ; number++) {
    const next = make(number)
    bytes += next.length
    if (bytes > most) return fields
    fields.push(next)
  }
}

/** Answers a request to identify itself with as many fields as the limits of identify allow. */
function identifiesWith(publicKey: Uint8Array, make: (number: number) => Buffer): StreamHandler {
  return async stream => {
    for (let count = 0, message = 0; message < IDENTIFY_MESSAGES; message++) {
      const key = field(1, publicKey)
      const fields = many(count, IDENTIFY_BYTES - key.length, make)
      count += fields.length
      stream.send(framed(Buffer.concat([key, ...fields])))
    }
    await stream.close()
  }
}

/** Identifies itself with too much, then opens streams, for each of which libp2p reads and writes its record. */
function identifyThenOpen(server: AbusedServer, make: (number: number) => Buffer): Promise<number> {
  return withHostileNode({}, async libp2p => {
    // Ed25519 public keys are part of the peer id.
    const key = libp2p.peerId.toMultihash().digest
    const answered = Promise.withResolvers<void>()
    const handler = identifiesWith(key, make)
    await libp2p.handle(IDENTIFY, async (stream, connection) => {
      await handler(stream, connection)
      answered.resolve()
    })
    const connection = await libp2p.dial(multiaddr(server.peerAddress))
    await answered.promise
    await new Promise(resolve => setTimeout(resolve, 500))
    for (let opened = 0; opened < STREAMS && connection.status === 'open'; opened++) {
      const stream = await connection.newStream(BITSWAP)
      stream.abort(new Error('the test opens the next one'))
    }
    return (await server.ask('/health')).status
  })
}

function portOf(server: AbusedServer): number {
  return Number(/\/tcp\/(\d+)\//.exec(server.peerAddress)?.[1])
}

async function socketTo(server: AbusedServer): Promise<Socket> {
  const socket = connect({ port: portOf(server), host: '127.0.0.1', localAddress: ATTACKER })
  socket.on('error', () => undefined)
  // The server may refuse the connection.
  await Promise.race([once(socket, 'connect').catch(() => undefined), once(socket, 'close')])
  return socket
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
    name: 'a peer that identifies itself with eleven thousand addresses',
    answers: [200],
    longestStallMs: 500,
    request: server => identifyThenOpen(server, number => field(2, Buffer.of(6, (number >> 8) & 0xff, number & 0xff))),
  },
  {
    name: 'a peer that identifies itself with ten thousand protocols',
    answers: [200],
    longestStallMs: 500,
    request: server => identifyThenOpen(server, number => field(3, Buffer.from(`/${number.toString(36)}`))),
  },
  {
    name: 'a peer whose agent version fills its message',
    answers: [200],
    request: server => identifyThenOpen(server, () => field(6, Buffer.alloc(7_000, 'a'))),
  },
  {
    name: 'silent sockets on the port of the peers',
    answers: [200],
    request: async server => {
      const sockets: Socket[] = []
      try {
        for (let round = 0; round < 4; round++) {
          sockets.push(...(await Promise.all(Array.from({ length: 5 }, () => socketTo(server)))))
          await new Promise(resolve => setTimeout(resolve, 1_050))
        }
        return await withHostileNode({}, async libp2p => {
          const signal = AbortSignal.timeout(5_000)
          const connection = await libp2p.dial(multiaddr(server.peerAddress), { signal }).catch(() => null)
          return connection === null ? 503 : 200
        })
      } finally {
        for (const socket of sockets) socket.destroy()
      }
    },
  },
  {
    name: 'handshakes that are too long, too short or never end',
    answers: [200],
    request: async server => {
      const begin = lines('/multistream/1.0.0', '/noise')
      const lengths = [0, 1, 31, 32, 33, 0xffff]
      for (const length of lengths) {
        const socket = await socketTo(server)
        socket.write(
          Buffer.concat([begin, Buffer.of(length >> 8, length & 0xff), randomBytes(Math.min(length, 60_000))]),
        )
        await new Promise(resolve => setTimeout(resolve, 250))
        socket.destroy()
      }
      for (const bytes of [Buffer.alloc(1_000_000, lines('/x')), Buffer.alloc(1_000_000, 0xff)]) {
        const socket = await socketTo(server)
        socket.write(bytes)
        await new Promise(resolve => setTimeout(resolve, 500))
        socket.destroy()
      }
      return (await server.ask('/health')).status
    },
  },
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
]
