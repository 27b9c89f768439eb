import type { Libp2p, PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { Clock } from '../domain/clock.ts'

/** A peer and where it may be; without addresses, where libp2p knows it to be. */
export interface PeerAddress {
  id: PeerId
  addresses: Multiaddr[]
}

const DIAL_TIMEOUT_MS = 5_000

/** Connects to peers, once at a time for each. */
export class Dialler {
  readonly #libp2p: Libp2p
  readonly #clock: Clock
  readonly #dialling = new Map<string, Promise<boolean>>()
  readonly #stop = new AbortController()

  constructor(libp2p: Libp2p, clock: Clock) {
    this.#libp2p = libp2p
    this.#clock = clock
  }

  isConnected(id: PeerId): boolean {
    return this.#libp2p.getConnections(id).some(connection => connection.status === 'open')
  }

  /** Whether the peer is connected, after dialling it if it was not. */
  connect(peer: PeerAddress): Promise<boolean> {
    if (this.isConnected(peer.id)) return Promise.resolve(true)
    const key = peer.id.toString()
    const known = this.#dialling.get(key)
    if (known !== undefined) return known
    const dialling = this.#dial(peer).finally(() => this.#dialling.delete(key))
    this.#dialling.set(key, dialling)
    return dialling
  }

  stop(): void {
    this.#stop.abort(new Error('the node is stopping'))
  }

  async #dial({ id, addresses }: PeerAddress): Promise<boolean> {
    const deadline = new AbortController()
    const cancel = this.#clock.after(DIAL_TIMEOUT_MS, () => deadline.abort(new Error('the peer does not answer')))
    try {
      const signal = AbortSignal.any([deadline.signal, this.#stop.signal])
      const connection = await this.#libp2p.dial(addresses.length > 0 ? addresses : id, { signal })
      return connection.remotePeer.equals(id)
    } catch {
      return false
    } finally {
      cancel()
    }
  }
}
