import type { Connection, Libp2p, PeerId, Stream } from '@libp2p/interface'
import type { CID } from 'multiformats/cid'
import type { Clock } from '../../domain/clock.ts'
import type { Logger } from '../../domain/logger.ts'
import { FairGate } from '../fair-gate.ts'
import type { HostBlocks } from '../host-blocks.ts'
import { FrameReader } from './frame-reader.ts'
import { decodeMessage } from './message.ts'
import { PeerChannel } from './peer-channel.ts'
import { PeerServing } from './peer-serving.ts'
import { type Asked, PeerWants } from './peer-wants.ts'

/** Bitswap, in the version that tells what a peer does not have. */
const PROTOCOL = '/ipfs/bitswap/1.2.0'
/** 4 MiB is what all implementations accept; a little more costs nothing. */
const LONGEST_MESSAGE = 4 * 1024 * 1024 + 64 * 1024
const STREAMS_PER_PEER = 64
/** Messages of blocks being read and sent at once, over all peers. */
const MESSAGES_AT_ONCE = 16

interface Peer {
  id: PeerId
  channel: PeerChannel
  wants: PeerWants
  serving: PeerServing
}

/**
 * Blocks by Bitswap, both ways, with whoever is connected. It keeps nothing: what comes goes to who asked, what is
 * served comes from {@link HostBlocks}.
 */
export class BlockExchange {
  readonly #libp2p: Libp2p
  readonly #blocks: HostBlocks
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #peers = new Map<string, Peer>()
  /** Those that are known to speak the protocol. */
  readonly #speakers = new Map<string, PeerId>()
  readonly #gate = new FairGate(MESSAGES_AT_ONCE)
  readonly #listeners = new Set<(id: PeerId) => void>()
  #topology: string | null = null

  constructor(options: { libp2p: Libp2p; blocks: HostBlocks; clock: Clock; logger: Logger }) {
    this.#libp2p = options.libp2p
    this.#blocks = options.blocks
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

  /** Tells of the connected peers that exchange blocks, now and later, until the returned function is called. */
  onPeer(listener: (id: PeerId) => void): () => void {
    for (const id of this.#speakers.values()) listener(id)
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Asks a connected peer for a block, or only whether it has it. */
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
    const parts = { channel, gate: this.#gate, blocks: this.#blocks, logger: this.#logger }
    const peer: Peer = {
      id,
      channel,
      wants: new PeerWants(channel, this.#clock),
      serving: new PeerServing({ peer: key, ...parts }),
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
    const fail = (error: unknown): void => {
      this.#logger.debug({ err: error, peer: peer.id.toString() }, 'a peer sent what cannot be read')
      peer.wants.interrupted('sent what cannot be read')
      stream.abort(error instanceof Error ? error : new Error(String(error)))
    }
    stream.addEventListener('message', ({ data }) => {
      try {
        for (const frame of frames.push(data instanceof Uint8Array ? data : data.subarray())) {
          const message = decodeMessage(frame)
          peer.serving.receive(message)
          peer.wants.receive(message).catch(fail)
        }
      } catch (error) {
        fail(error)
      }
    })
    // Answers go on streams of our own, so this one is closed when the peer closes it; it may have done so already.
    const end = (): void => {
      stream.close().catch(() => undefined)
    }
    stream.addEventListener('remoteCloseWrite', end)
    if (stream.remoteWriteStatus !== 'writable') end()
    stream.addEventListener('close', () => {
      if (frames.isWithinMessage) peer.wants.interrupted('broke off')
    })
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
