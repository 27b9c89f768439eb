import type { Libp2p, PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import { within } from '../concurrency/deadline.ts'
import type { Clock } from '../domain/clock.ts'
import { orAborted } from '../domain/sources.ts'
import type { PeerAddress } from './addresses.ts'
import { type Names, publicAddresses } from './public-addresses.ts'

const DIAL_TIMEOUT_MS = 5_000

/** Concurrent calls for the same peer share one dial. */
export class Dialler {
  readonly #libp2p: Libp2p
  readonly #clock: Clock
  readonly #names: Names
  readonly #dialling = new Map<string, Promise<boolean>>()
  readonly #stop = new AbortController()

  constructor(libp2p: Libp2p, clock: Clock, names: Names) {
    this.#libp2p = libp2p
    this.#clock = clock
    this.#names = names
  }

  isConnected(id: PeerId): boolean {
    return this.#libp2p.getConnections(id).some(connection => connection.status === 'open')
  }

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

  async #dial(peer: PeerAddress): Promise<boolean> {
    const late = (): Error => new Error('the peer does not answer')
    const times = { clock: this.#clock, ms: DIAL_TIMEOUT_MS, late, signal: this.#stop.signal }
    try {
      const connection = await within(times, async signal => {
        const to = await orAborted(this.#addressesOf(peer, signal), signal)
        return this.#libp2p.dial(to, { signal })
      })
      return connection.remotePeer.equals(peer.id)
    } catch {
      return false
    }
  }

  /** @throws RangeError if the peer has no address that may be dialled */
  async #addressesOf({ id, addresses, publicOnly = false }: PeerAddress, signal: AbortSignal) {
    if (!publicOnly) return addresses.length > 0 ? addresses : id
    const known = addresses.length > 0 ? addresses : await this.#knownAddresses(id, signal)
    const found = await publicAddresses(known, this.#names)
    if (found.length === 0) throw new RangeError('has no public address')
    return found.map(address => address.encapsulate(`/p2p/${id}`))
  }

  async #knownAddresses(id: PeerId, signal: AbortSignal): Promise<Multiaddr[]> {
    const known = await this.#libp2p.peerStore.get(id, { signal }).catch(() => null)
    if (known !== null && known.addresses.length > 0) return known.addresses.map(({ multiaddr }) => multiaddr)
    return (await this.#libp2p.peerRouting.findPeer(id, { signal })).multiaddrs
  }
}
