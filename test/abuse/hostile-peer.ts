import { type HeliaWithLibp2p, withLibp2pLight } from '@helia/libp2p'
import type { MessageStream, ServiceMap, StreamHandler, StreamMuxerFactory } from '@libp2p/interface'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { AbstractStreamMuxer } from '@libp2p/utils'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createHeliaLight } from 'helia'

export const FRAME = { data: 0, windowUpdate: 1, ping: 2 } as const
export const FLAG = { none: 0, syn: 1, fin: 4, rst: 8 } as const
const HEADER_BYTES = 12

/** Encodes the header of a Yamux frame. */
export function frame(type: number, flags: number, stream: number, length = 0): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header[1] = type
  header.writeUInt16BE(flags, 2)
  header.writeUInt32BE(stream, 4)
  header.writeUInt32BE(length, 8)
  return header
}

export function dataFrame(stream: number, data: Uint8Array, flags: number = FLAG.none): Buffer {
  return Buffer.concat([frame(FRAME.data, flags, stream, data.length), data])
}

/** Encodes lines of multistream-select. Each line is shorter than 127 bytes. */
export function lines(...names: readonly string[]): Buffer {
  return Buffer.concat(names.map(name => Buffer.from(`${String.fromCharCode(name.length + 1)}${name}\n`)))
}

/** A muxer that ignores all frames. The test writes its frames on the connection. */
class DeafMuxer extends AbstractStreamMuxer {
  override onData(): void {}

  override onCreateStream(): never {
    throw new Error('a deaf muxer has no streams')
  }
}

interface HostileOptions {
  handlers?: Readonly<Record<string, StreamHandler>>
  muxer?: () => StreamMuxerFactory
}

/** Runs a libp2p node without any service, and stops it afterwards. */
export async function withHostileNode<T>(
  { handlers = {}, muxer = yamux() }: HostileOptions,
  use: (libp2p: HeliaWithLibp2p<ServiceMap>['libp2p']) => Promise<T>,
): Promise<T> {
  const helia = withLibp2pLight(createHeliaLight(), {
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [muxer],
    connectionMonitor: { enabled: false },
    services: {},
  })
  await helia.start()
  try {
    for (const [protocol, handler] of Object.entries(handlers)) await helia.libp2p.handle(protocol, handler)
    return await use(helia.libp2p)
  } finally {
    await helia.stop()
  }
}

/** Connects to a node, and passes the encrypted connection, on which the test writes Yamux frames. */
export function withRawConnection<T>(address: string, use: (connection: MessageStream) => Promise<T>): Promise<T> {
  let raw: MessageStream | null = null
  const muxer = (): StreamMuxerFactory => ({
    protocol: '/yamux/1.0.0',
    createStreamMuxer: connection => {
      raw = connection
      return new DeafMuxer(connection, { protocol: '/yamux/1.0.0', name: 'deaf' })
    },
  })
  return withHostileNode({ muxer }, async libp2p => {
    await libp2p.dial(multiaddr(address))
    if (raw === null) throw new Error('the connection has no muxer')
    return use(raw)
  })
}

/** Sends a message repeatedly, and waits while the socket is full. Stops when the other side closes the connection. */
export async function flood(connection: MessageStream, message: Uint8Array, times: number, ms = 8_000): Promise<void> {
  const signal = AbortSignal.timeout(ms)
  try {
    for (let sent = 0; sent < times && connection.status === 'open'; sent++) {
      if (!connection.send(message)) await connection.onDrain({ signal })
      // Requests of the same process have their turn.
      await new Promise(resolve => setImmediate(resolve))
    }
  } catch {
    // The other side has closed the connection, or reads nothing more.
  }
}
