import { createEngine } from '../../../src/index.ts'
import { CODEC } from '../../../src/ipld/cid.ts'
import { blockOf } from '../../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { libp2pOf } from '../../support/helia.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import type { AbusedServer } from '../abused-server.ts'
import type { AbuseRow } from '../row.ts'

const PROTOCOL = '/ipfs/bitswap/1.2.0'

/** Sends one Bitswap message to the server from a new peer. Returns the status of `/health` afterwards. */
function sendMessage(server: AbusedServer, message: Uint8Array, meanwhile?: () => Promise<unknown>): Promise<number> {
  return withTempDir(async dataDir => {
    await using engine = await createEngine({ dataDir, network: { enabled: true } })
    const { multiaddr } = await import('@multiformats/multiaddr')
    const libp2p = await libp2pOf(engine)
    await libp2p.dial(multiaddr(server.peerAddress))
    const waiting = meanwhile?.()
    const stream = await libp2p.dialProtocol(multiaddr(server.peerAddress), PROTOCOL)
    for (let at = 0; at < message.length; at += 65_536) {
      if (!stream.send(message.subarray(at, at + 65_536))) await stream.onDrain()
    }
    await stream.close()
    await waiting
    return (await server.ask('/health')).status
  })
}

/** Encodes a protobuf field whose value is bytes. */
function field(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of((number << 3) | 2), varint(bytes.length), bytes])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (; value > 0x7f; value = Math.floor(value / 128)) bytes.push((value & 0x7f) | 0x80)
  return Buffer.of(...bytes, value)
}

function framed(message: Uint8Array): Buffer {
  return Buffer.concat([varint(message.length), message])
}

export const rows: readonly AbuseRow[] = [
  {
    name: 'a message of four megabytes with half a million wants',
    answers: [200],
    request: server => sendMessage(server, framed(field(1, Buffer.alloc(4_000_000, field(1, field(1, Buffer.of(1))))))),
  },
  {
    name: 'a message of hundreds of thousands of one-byte blocks while a want is open',
    answers: [200],
    request: server => {
      const wanted = blockOf(CODEC.raw, pseudoRandom(100, 'nobody has it'))
      const block = field(3, Buffer.concat([field(1, Buffer.of(1, 0x55, 0x12, 0x20)), field(2, Buffer.of(7))]))
      return sendMessage(server, framed(Buffer.alloc(block.length * Math.floor(4_000_000 / block.length), block)), () =>
        server.askJson('POST', `/api/v3/files/pin/${wanted.cid}`, {}),
      )
    },
  },
]
