import type { PeerData, PeerId, PeerStore, Stream, StreamMiddleware } from '@libp2p/interface'
import { AbstractStream } from '@libp2p/utils'

/**
 * libp2p compares each new address with all known ones, reads and writes the record for each stream, and dials at most
 * 25 addresses.
 */
const MOST_ADDRESSES = 24
const MOST_PROTOCOLS = 256
const LONGEST_PROTOCOL = 128
/** In bytes, such as the agent version. */
const LONGEST_METADATA = 256
/** A stream of pings has 32 bytes each, and lasts at most ten seconds. */
const MOST_PING_BYTES = 64 * 1024
/** A response with 20 peers has about 8 KiB. The library reads up to 4 MiB, in one turn of the event loop. */
const MOST_DHT_BYTES = 128 * 1024
/** The library reads ten messages of 8 KiB. */
const MOST_IDENTIFY_BYTES = 96 * 1024
/** Enough for a length of 2 MiB. For each further byte the library throws an error, and continues. */
const LONGEST_LENGTH = 3

interface Components {
  peerStore: PeerStore
  registrar: { getMiddleware(protocol: string): StreamMiddleware[] }
}

/** Limits what peers can have libp2p keep and read. Changes the components, because libp2p has no option for it. */
export function limitPeers({ peerStore, registrar }: Components, dhtProtocol: string): void {
  limitRecords(peerStore)
  const limits = new Map<string, StreamLimits>([
    ['/ipfs/ping/1.0.0', { bytes: MOST_PING_BYTES, hasLengths: false }],
    ['/ipfs/id/1.0.0', { bytes: MOST_IDENTIFY_BYTES, hasLengths: true }],
    [dhtProtocol, { bytes: MOST_DHT_BYTES, hasLengths: true }],
  ])
  const middleware = registrar.getMiddleware.bind(registrar)
  registrar.getMiddleware = protocol => {
    const limit = limits.get(protocol)
    return limit === undefined ? middleware(protocol) : [limiting(limit), ...middleware(protocol)]
  }
}

function limitRecords(store: PeerStore): void {
  const patch = store.patch.bind(store)
  const merge = store.merge.bind(store)
  const save = store.save.bind(store)
  store.patch = (id, data, options) => patch(id, limited(data), options)
  store.save = (id, data, options) => save(id, limited(data), options)
  store.merge = async (id, data, options) => {
    if (data.multiaddrs === undefined && data.addresses === undefined) return merge(id, limited(data), options)
    return merge(id, limited(data, await knownAddresses(store, id)), options)
  }
}

async function knownAddresses(store: PeerStore, id: PeerId): Promise<number> {
  const known = await store.get(id).catch(() => null)
  return known?.addresses.length ?? 0
}

/** @param known number of addresses that stay in the record */
function limited(data: PeerData, known = 0): PeerData {
  const { multiaddrs, addresses, protocols, metadata } = data
  const room = Math.max(0, MOST_ADDRESSES - known)
  return {
    ...data,
    ...(multiaddrs && { multiaddrs: multiaddrs.slice(0, room) }),
    ...(addresses && { addresses: addresses.slice(0, Math.max(0, room - (multiaddrs?.length ?? 0))) }),
    ...(protocols && { protocols: protocols.filter(isProtocol).slice(0, MOST_PROTOCOLS) }),
    ...(metadata && { metadata: shortened(metadata) }),
  }
}

function isProtocol(name: string): boolean {
  return name.length <= LONGEST_PROTOCOL
}

function shortened(metadata: NonNullable<PeerData['metadata']>): NonNullable<PeerData['metadata']> {
  const entries = metadata instanceof Map ? [...metadata] : Object.entries(metadata)
  return Object.fromEntries(entries.map(([name, value]) => [name, value?.subarray(0, LONGEST_METADATA)]))
}

interface StreamLimits {
  bytes: number
  /** True if each message of the protocol follows its length. */
  hasLengths: boolean
}

function limiting(limits: StreamLimits): StreamMiddleware {
  return (stream, connection, next) => {
    limitStream(stream, limits)
    next(stream, connection)
  }
}

/**
 * Aborts a stream that exceeds its limits. Replaces `onData`, because an earlier listener for messages would take those
 * that arrive before the protocol listens.
 */
function limitStream(stream: Stream, { bytes, hasLengths }: StreamLimits): void {
  if (!(stream instanceof AbstractStream)) throw new TypeError('streams have changed: their bytes have no limit')
  const onData = stream.onData.bind(stream)
  const lengths = new Lengths()
  let left = bytes
  const check = (data: Iterable<Uint8Array>, length: number): boolean => {
    left -= length
    const isRight = left >= 0 && (!hasLengths || lengths.areShort(data))
    if (!isRight) stream.abort(new RangeError('the peer sends too much'))
    return isRight
  }
  stream.onData = data => {
    if (check(data instanceof Uint8Array ? [data] : data, data.byteLength)) onData(data)
  }
  check(earlyData(stream), stream.readBufferLength)
}

/** Returns the data that came with the name of the protocol, and stays in the stream. */
function earlyData(stream: Stream): Iterable<Uint8Array> {
  return stream.readBufferLength === 0 ? [] : (Reflect.get(stream, 'readBuffer') as Iterable<Uint8Array>)
}

/** Follows the lengths of messages, as varints. */
class Lengths {
  #messageLeft = 0
  #length = 0
  #lengthBytes = 0

  /** Returns false if a length is longer than any message. */
  areShort(pieces: Iterable<Uint8Array>): boolean {
    for (const piece of pieces) {
      for (let at = 0; at < piece.length; ) {
        if (this.#messageLeft > 0) {
          const skipped = Math.min(this.#messageLeft, piece.length - at)
          this.#messageLeft -= skipped
          at += skipped
        } else if (!this.#readLength(piece[at++] ?? 0)) return false
      }
    }
    return true
  }

  #readLength(byte: number): boolean {
    this.#length += (byte & 0x7f) * 128 ** this.#lengthBytes++
    if (byte >= 0x80) return this.#lengthBytes < LONGEST_LENGTH
    this.#messageLeft = this.#length
    this.#length = 0
    this.#lengthBytes = 0
    return true
  }
}
