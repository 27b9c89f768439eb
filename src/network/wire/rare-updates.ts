import type { MessageStream, StreamMuxerFactory } from '@libp2p/interface'
import { AbstractStreamMuxer } from '@libp2p/utils'
import { type YamuxMuxerInit, yamux } from '@libp2p/yamux'
import { takeInTurns } from './frame-turns.ts'
import { endNegotiation, negotiateProtocol } from './negotiation.ts'
import { sentThrough } from './sent-through.ts'

/** Half of the initial window. At this limit, the delayed window updates of a stream are sent. */
const MOST_HELD_BYTES = 128 * 1024
const MOST_HELD_UPDATES = 64
/** Maximum number of frames for a peer that does not read. Each stream waits after one, but answers to frames do not. */
const MOST_UNREAD = 16_384

const HEADER_BYTES = 12
const VERSION = 0
const WINDOW_UPDATE = 1

/**
 * The library sends a window update for each message that it reads, which costs a system call and wakes the peer. It
 * also has no limit for a peer's frames.
 */
export function rareYamux(init: YamuxMuxerInit, longestFrame: number): () => StreamMuxerFactory {
  return () => {
    const factory = yamux(init)()
    return {
      protocol: factory.protocol,
      createStreamMuxer: connection => {
        const muxer = factory.createStreamMuxer(holdingUpdates(connection))
        if (!(muxer instanceof AbstractStreamMuxer)) throw new TypeError('Yamux has changed: its frames have no limit')
        endNegotiation(connection)
        takeInTurns(muxer, connection, longestFrame)
        negotiateStreams(muxer)
        return muxer
      },
    }
  }
}

/** Limits the negotiation of each stream that either side opens. */
function negotiateStreams(muxer: AbstractStreamMuxer): void {
  const { onRemoteStream, onCreateStream } = muxer
  muxer.onRemoteStream = stream => {
    negotiateProtocol(stream)
    onRemoteStream.call(muxer, stream)
  }
  muxer.onCreateStream = options => {
    const made = onCreateStream.call(muxer, options)
    if (!(made instanceof Promise)) negotiateProtocol(made)
    return made
  }
}

/**
 * Delays window updates, up to half of the initial window, and sends them in one message.
 *
 * The muxer sends each frame separately. Data with the length of a header is therefore one frame.
 */
function holdingUpdates(connection: MessageStream): MessageStream {
  const held = new Map<number, number>()
  let unread = 0
  return sentThrough(connection, data => {
    if (connection.status === 'aborted') return false
    const update = data instanceof Uint8Array ? windowUpdate(data) : null
    if (update === null) {
      unread = connection.writableNeedsDrain ? unread + 1 : 0
      if (unread <= MOST_UNREAD) return connection.send(data)
      connection.abort(new Error('the peer reads nothing'))
      return false
    }
    const bytes = (held.get(update.stream) ?? 0) + update.bytes
    held.set(update.stream, bytes)
    if (bytes < MOST_HELD_BYTES && held.size < MOST_HELD_UPDATES) return !connection.writableNeedsDrain
    const frames = encodeUpdates(held)
    held.clear()
    return connection.send(frames)
  })
}

/** Returns null for any other frame and for an update with flags. */
function windowUpdate(frame: Uint8Array): { stream: number; bytes: number } | null {
  if (frame.length !== HEADER_BYTES || frame[0] !== VERSION || frame[1] !== WINDOW_UPDATE) return null
  const view = new DataView(frame.buffer, frame.byteOffset, HEADER_BYTES)
  return view.getUint16(2) === 0 ? { stream: view.getUint32(4), bytes: view.getUint32(8) } : null
}

function encodeUpdates(updates: ReadonlyMap<number, number>): Uint8Array {
  const frames = new Uint8Array(updates.size * HEADER_BYTES)
  const view = new DataView(frames.buffer)
  let at = 0
  for (const [stream, bytes] of updates) {
    view.setUint8(at, VERSION)
    view.setUint8(at + 1, WINDOW_UPDATE)
    view.setUint32(at + 4, stream)
    view.setUint32(at + 8, bytes)
    at += HEADER_BYTES
  }
  return frames
}
