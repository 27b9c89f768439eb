import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Libp2p, PrivateKey, StreamHandler } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { varintBytes } from '../../../src/ipld/varint.ts'
import type { AbusedServer } from '../abused-server.ts'
import { lines, withHostileNode } from '../hostile-peer.ts'
import { address, field, framed, IDENTIFY, many } from '../peer-messages.ts'
import type { AbuseRow } from '../row.ts'

const BITSWAP = '/ipfs/bitswap/1.2.0'
const IDENTIFY_BYTES = 8 * 1024
const IDENTIFY_MESSAGES = 10
const STREAMS = 100
/** Hosts of attackers. Other peers connect from 127.0.0.1. */
const ATTACKER = '127.0.0.2'

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

/** Signs a record of its addresses, as full as a message of identify allows. */
async function signedRecord(libp2p: Libp2p, key: Uint8Array, sequence: number): Promise<Buffer> {
  const addresses = many(0, IDENTIFY_BYTES - 300, number => field(3, field(1, address(number))))
  const own = field(1, libp2p.peerId.toMultihash().bytes)
  const payload = Buffer.concat([own, Buffer.of(2 << 3), varintBytes(sequence), ...addresses])
  const parts = [Buffer.from('libp2p-peer-record'), Buffer.of(3, 1), payload]
  const { privateKey } = Reflect.get(libp2p, 'components') as { privateKey: PrivateKey }
  const signature = await privateKey.sign(Buffer.concat(parts.map(framed)))
  return Buffer.concat([field(1, key), field(2, Buffer.of(3, 1)), field(3, payload), field(5, signature)])
}

/** Connects again and again. Each time it identifies itself with newer signed addresses. */
function signAgain(server: AbusedServer, times: number): Promise<number> {
  return withHostileNode({}, async libp2p => {
    const key = libp2p.peerId.toMultihash().digest
    let asked = Promise.withResolvers<void>()
    let sequence = 1
    await libp2p.handle(IDENTIFY, async stream => {
      stream.send(framed(Buffer.concat([field(1, key), field(8, await signedRecord(libp2p, key, sequence++))])))
      await stream.close()
      asked.resolve()
    })
    for (let time = 0; time < times; time++) {
      asked = Promise.withResolvers()
      const connection = await libp2p.dial(multiaddr(server.peerAddress))
      await asked.promise
      await connection.close()
      // The server takes five connections a second.
      await new Promise(resolve => setTimeout(resolve, 210))
    }
    if (sequence <= times) throw new Error('the server did not ask the peer to identify itself')
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
    name: 'a peer that signs hundreds of addresses at each connection',
    answers: [200],
    longestStallMs: 500,
    request: server => signAgain(server, 20),
  },
]
