import type { Connection, Libp2p, PeerId, Stream } from '@libp2p/interface'
import type { CID } from 'multiformats/cid'
import { Semaphore } from '../../concurrency/capacity/semaphore.ts'
import { underName } from '../../concurrency/work.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Logger } from '../../domain/logger.ts'
import type { digestOf } from '../../ipld/block-hash.ts'
import type { ServedBlocks } from '../served-blocks.ts'
import { FrameReader } from './frame-reader.ts'
import { type FrameHandling, InboundStream } from './inbound-stream.ts'
import { decodeMessage, type ReceivedMessage } from './message.ts'
import type { Misconduct } from './misconduct.ts'
import { PeerChannel } from './peer-channel.ts'
import { PeerServing } from './peer-serving.ts'
import { type Asked, PeerWants } from './peer-wants.ts'
import { MOST_WANTS, type WantCount } from './want-queue.ts'

/** In Bitswap 1.2.0 a peer can answer that it lacks a block. */
const PROTOCOL = '/ipfs/bitswap/1.2.0'
/** Every implementation accepts 4 MiB. The extra 64 KiB are a tolerance. */
const LONGEST_MESSAGE = 4 * 1024 * 1024 + 64 * 1024
const STREAMS_PER_PEER = 64
/** Limits the memory for one peer's incomplete messages, on all its streams. */
const MOST_FRAME_BYTES = 64 * 1024 * 1024
/** Maximum number of outgoing messages with blocks in memory, across all peers. */
const MESSAGES_AT_ONCE = 16

interface Peer {
  id: PeerId
  channel: PeerChannel
  wants: PeerWants
  serving: PeerServing
  frames: Set<FrameReader>
  /** Bytes that were received on the peer's streams and not yet read. */
  room: { waitingBytes: number }
}

/** Exchanges blocks with connected peers by Bitswap. A received block goes to its requester, not into a store. */
export class BlockExchange {
  readonly #libp2p: Libp2p
  readonly #blocks: ServedBlocks
  readonly #hash: typeof digestOf
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #peers = new Map<string, Peer>()
  readonly #speakers = new Map<string, PeerId>()
  readonly #misconduct: Misconduct
  readonly #gate = new Semaphore(MESSAGES_AT_ONCE)
  readonly #decoding = new Semaphore(1)
  readonly #wants: WantCount = { count: 0 }
  readonly #listeners = new Set<(id: PeerId) => void>()
  #topology: string | null = null

  constructor(options: {
    libp2p: Libp2p
    blocks: ServedBlocks
    hash: typeof digestOf
    misconduct: Misconduct
    clock: Clock
    logger: Logger
  }) {
    this.#misconduct = options.misconduct
    this.#libp2p = options.libp2p
    this.#blocks = options.blocks
    this.#hash = options.hash
    this.#clock = options.clock
    this.#logger = options.logger
  }

  async start(): Promise<void> {
    await this.#libp2p.handle(PROTOCOL, (stream, connection) => this.#receive(stream, connection), {
      maxInboundStreams: STREAMS_PER_PEER,
      maxOutboundStreams: STREAMS_PER_PEER,
    })
    this.#topology = await this.#libp2p.register(PROTOCOL, {
      onConnect: id => {
        this.#speakers.set(id.toString(), id)
        for (const listener of this.#listeners) listener(id)
      },
    })
    this.#libp2p.addEventListener('peer:disconnect', this.#onDisconnect)
  }

  async stop(): Promise<void> {
    this.#libp2p.removeEventListener('peer:disconnect', this.#onDisconnect)
    if (this.#topology !== null) this.#libp2p.unregister(this.#topology)
    await this.#libp2p.unhandle(PROTOCOL)
    for (const key of [...this.#peers.keys()]) this.#drop(key, 'the node is stopping')
  }

  get hasPeers(): boolean {
    return this.#speakers.size > 0
  }

  /**
   * Calls `listener` for every peer with this protocol that is connected or connects later. Returns a function that
   * removes the listener.
   */
  onPeer(listener: (id: PeerId) => void): () => void {
    for (const id of this.#speakers.values()) listener(id)
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** @param options.presence true to ask only whether the peer has the block */
  ask(id: PeerId, cid: CID, { presence }: { presence: boolean }): Asked {
    if (this.#libp2p.getConnections(id).length === 0) {
      return { answer: Promise.resolve({ kind: 'lost', reason: 'is not connected' }), cancel: () => undefined }
    }
    return this.#peer(id).wants.ask(cid, presence)
  }

  #peer(id: PeerId): Peer {
    const key = id.toString()
    const known = this.#peers.get(key)
    if (known !== undefined) return known
    const channel = new PeerChannel(signal => this.#open(id, signal), this.#clock)
    const parts = { channel, gate: this.#gate, wants: this.#wants, blocks: this.#blocks, logger: this.#logger }
    const peer: Peer = {
      id,
      channel,
      wants: new PeerWants(channel, this.#clock, this.#hash),
      serving: new PeerServing({ peer: key, ...parts }),
      frames: new Set(),
      room: { waitingBytes: 0 },
    }
    this.#peers.set(key, peer)
    return peer
  }

  async #open(id: PeerId, signal: AbortSignal): Promise<Stream> {
    const connection = this.#libp2p.getConnections(id).find(({ status, limits }) => status === 'open' && !limits)
    if (connection === undefined) throw new Error('is not connected')
    return connection.newStream(PROTOCOL, { signal })
  }

  #receive(stream: Stream, connection: Connection): void {
    const peer = this.#peer(connection.remotePeer)
    const frames = new FrameReader(LONGEST_MESSAGE)
    peer.frames.add(frames)
    const fail = (error: unknown): void => {
      this.#logger.debug({ err: error, peer: peer.id.toString() }, 'a peer sent a malformed message')
      peer.wants.interrupted('sent a malformed message')
      stream.abort(error instanceof Error ? error : new Error(String(error)))
      this.#noteOffence(peer)
    }
    const handling: FrameHandling = {
      onFrame: frame =>
        underName('exchange', async () => ({ done: this.#receiveBlocks(peer, this.#decode(peer, frame)).catch(fail) })),
      onBroken: () => peer.wants.interrupted('closed the stream within a message'),
      onFailure: fail,
    }
    new InboundStream(stream, frames, { owner: peer.id.toString(), gate: this.#decoding, room: peer.room, handling })
    // This node answers on another stream. The peer may already have closed its end of this stream.
    const end = (): void => {
      stream.close().catch(() => undefined)
    }
    stream.addEventListener('remoteCloseWrite', end)
    if (stream.remoteWriteStatus !== 'writable') end()
    stream.addEventListener('close', () => peer.frames.delete(frames))
  }

  #decode(peer: Peer, frame: Uint8Array): ReceivedMessage {
    const held = [...peer.frames].reduce((sum, { bytes }) => sum + bytes, 0)
    if (held > MOST_FRAME_BYTES) throw new RangeError('too many long messages at once')
    const { expected } = peer.wants
    const message = decodeMessage(frame, { wants: MOST_WANTS, blocks: expected, presences: expected })
    peer.serving.receive(message)
    return message
  }

  async #receiveBlocks(peer: Peer, message: ReceivedMessage): Promise<void> {
    const wasWanted = await peer.wants.receive(message)
    if (message.hasSurplusBlocks || !wasWanted) this.#noteOffence(peer)
  }

  /** Disconnects the peer after too many offences, and bans it for ten minutes. */
  #noteOffence({ id }: Peer): void {
    const key = id.toString()
    if (!this.#peers.has(key) || !this.#misconduct.note(key)) return
    this.#logger.info({ peer: key }, 'bans a peer for ten minutes: it sent malformed messages or unrequested blocks')
    this.#drop(key, 'is banned')
    this.#libp2p.hangUp(id).catch(() => undefined)
  }

  readonly #onDisconnect = ({ detail }: CustomEvent<PeerId>): void => {
    this.#drop(detail.toString(), 'closed the connection')
  }

  #drop(key: string, reason: string): void {
    this.#speakers.delete(key)
    const peer = this.#peers.get(key)
    if (peer === undefined) return
    this.#peers.delete(key)
    peer.serving.close()
    peer.wants.lost(reason)
    peer.channel.close()
  }
}
