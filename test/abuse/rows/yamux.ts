import type { MessageStream } from '@libp2p/interface'
import type { AbusedServer } from '../abused-server.ts'
import { dataFrame, FLAG, FRAME, flood, frame, lines, withRawConnection } from '../hostile-peer.ts'
import type { AbuseRow } from '../row.ts'

const MESSAGE_BYTES = 64 * 1024
const STREAMS = 1_000
const PING = frame(FRAME.ping, FLAG.syn, 0, 1)

/** Fills a message with a frame. */
function full(bytes: Uint8Array): Buffer {
  return Buffer.alloc(bytes.length * Math.floor(MESSAGE_BYTES / bytes.length), bytes)
}

/** Encodes frames for streams with odd numbers. */
function forStreams(count: number, make: (stream: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => make(2 * index + 1)))
}

/** Lets a hostile peer write frames. Returns the status of `/health` afterwards. */
async function attack(server: AbusedServer, write: (connection: MessageStream) => Promise<void>): Promise<number> {
  await withRawConnection(server.peerAddress, write)
  return (await server.ask('/health')).status
}

export const rows: readonly AbuseRow[] = [
  {
    name: 'a million Yamux pings',
    answers: [200],
    longestStallMs: 500,
    request: server => attack(server, connection => flood(connection, full(PING), 200)),
  },
  {
    name: 'Yamux pings from a peer that reads no answer',
    answers: [200],
    peakMiB: 150,
    request: server =>
      attack(server, async connection => {
        connection.pause()
        await flood(connection, full(PING), 1_000)
      }),
  },
  {
    name: 'a Yamux frame of four gigabytes',
    answers: [200],
    peakMiB: 150,
    request: server =>
      attack(server, async connection => {
        connection.send(frame(FRAME.windowUpdate, FLAG.syn, 1))
        connection.send(frame(FRAME.data, FLAG.none, 1, 0xffffffff))
        await flood(connection, Buffer.alloc(MESSAGE_BYTES), 8_000)
      }),
  },
  {
    name: 'half a million Yamux streams, each reset at once',
    answers: [200],
    longestStallMs: 500,
    // Garbage of the streams until the collector runs. Six times as many streams leave no more.
    growthMiB: 800,
    request: server =>
      attack(server, async connection => {
        for (let first = 1; first < 1_000_000 && connection.status === 'open'; first += 5_000) {
          const pairs = forStreams(2_500, stream =>
            Buffer.concat([
              frame(FRAME.windowUpdate, FLAG.syn, first + stream - 1),
              frame(FRAME.windowUpdate, FLAG.rst, first + stream - 1),
            ]),
          )
          await flood(connection, pairs, 1)
        }
      }),
  },
  {
    name: 'a thousand silent Yamux streams, and data for unknown ones',
    answers: [200],
    longestStallMs: 500,
    request: server =>
      attack(server, async connection => {
        await flood(
          connection,
          forStreams(STREAMS, stream => frame(FRAME.windowUpdate, FLAG.syn, stream)),
          1,
        )
        await flood(connection, full(dataFrame(1_000_001, Buffer.of(1))), 200)
      }),
  },
  {
    name: 'empty Yamux frames and window updates for one stream',
    answers: [200],
    longestStallMs: 500,
    request: server =>
      attack(server, async connection => {
        connection.send(frame(FRAME.windowUpdate, FLAG.syn, 1))
        const both = Buffer.concat([
          frame(FRAME.data, FLAG.none, 1),
          frame(FRAME.windowUpdate, FLAG.none, 1, 0xffff_ffff),
        ])
        await flood(connection, full(both), 200)
      }),
  },
  {
    name: 'a thousand streams that ask for the protocols and read nothing',
    answers: [200],
    longestStallMs: 500,
    peakMiB: 200,
    request: server =>
      attack(server, async connection => {
        connection.pause()
        const asked = Buffer.concat([lines('/multistream/1.0.0'), ...Array.from({ length: 100 }, () => lines('ls'))])
        await flood(
          connection,
          forStreams(STREAMS, stream => dataFrame(stream, asked, FLAG.syn)),
          1,
        )
        await flood(
          connection,
          forStreams(100, stream => dataFrame(stream, Buffer.alloc(64, lines('x')))),
          1_000,
        )
      }),
  },
  {
    name: 'a gigabyte of the ping protocol whose echo is not read',
    answers: [200],
    peakMiB: 150,
    request: server =>
      attack(server, async connection => {
        connection.send(dataFrame(1, lines('/multistream/1.0.0', '/ipfs/ping/1.0.0'), FLAG.syn))
        connection.pause()
        await flood(connection, dataFrame(1, Buffer.alloc(MESSAGE_BYTES)), 16_000)
      }),
  },
  {
    name: 'Noise messages of one byte',
    answers: [200],
    longestStallMs: 500,
    request: server => attack(server, connection => flood(connection, Buffer.of(0), 300_000)),
  },
]
