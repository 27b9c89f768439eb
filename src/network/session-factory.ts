import type { Libp2p } from '@libp2p/interface'
import type { CID } from 'multiformats/cid'
import { Semaphore } from '../concurrency/capacity/semaphore.ts'
import { Deadline } from '../concurrency/deadline.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { badOrigins, FETCH_ORIGINS, tooManyOrigins } from '../domain/origins.ts'
import type { GatewayClient } from '../outgoing/gateway-client.ts'
import { type PeerAddress, peerAddress } from './addresses.ts'
import type { BlockFetcher, FetchSession } from './block-fetcher.ts'
import type { Dialler } from './dialler.ts'
import type { BlockExchange } from './exchange/block-exchange.ts'
import { ProviderSession } from './fetch-session.ts'
import type { HostBlocks } from './host-blocks.ts'
import { gatewayUrl, type NetworkSettings } from './network-settings.ts'
import { type BlockProvider, TIER } from './providers/block-provider.ts'
import { GatewayProvider } from './providers/gateway-provider.ts'
import { PeerProvider } from './providers/peer-provider.ts'
import { leadsInside } from './public-addresses.ts'

export interface SessionFactoryParts {
  libp2p: Libp2p
  settings: NetworkSettings
  exchange: BlockExchange
  dialler: Dialler
  gateways: GatewayClient
  host: HostBlocks
  clock: Clock
}

/** Maximum number of concurrent fetches across all sessions. With blocks of 1 MiB, they need 128 MiB of memory. */
const BLOCKS_AT_ONCE = 128
const MOST_FOUND = 20
const DISCOVERY_MS = 30_000

/** Closes all sessions when the node stops. */
export class SessionFactory implements BlockFetcher {
  readonly #parts: SessionFactoryParts
  readonly #gate = new Semaphore(BLOCKS_AT_ONCE)
  readonly #sessions = new Set<ProviderSession>()
  readonly #configured: readonly BlockProvider[]
  #unnamed = 0

  constructor(parts: SessionFactoryParts) {
    this.#parts = parts
    const { peers, gateways } = parts.settings
    this.#configured = [
      ...peers.map(peer => this.#peer(peer, TIER.peer)),
      ...gateways.map(url => new GatewayProvider(url, TIER.gateway, parts.gateways)),
    ]
  }

  canAsk(origins: readonly string[]): boolean {
    const { exchange, settings, host } = this.#parts
    const isAnybodyKnown = this.#configured.length > 0 || exchange.hasPeers || settings.dht !== 'off'
    return origins.length > 0 || isAnybodyKnown || host.mayHave()
  }

  usable(origins: readonly string[]): string[] {
    return origins.filter(origin => {
      try {
        this.#origin(origin)
        return true
      } catch (error) {
        if (error instanceof HoldfastError && error.cause instanceof PrivateAddressError) return false
        throw error
      }
    })
  }

  async open(
    root: CID,
    options: { origins: readonly string[]; signal: AbortSignal; owner?: string | undefined; lingerMs?: number },
  ): Promise<FetchSession> {
    const { origins, owner, lingerMs } = options
    if (origins.length > FETCH_ORIGINS) throw tooManyOrigins()
    return this.#session(
      root,
      origins.map(origin => this.#origin(origin)),
      owner,
      lingerMs,
    )
  }

  openWith(root: CID, peers: readonly PeerAddress[]): FetchSession {
    return this.#session(
      root,
      peers.map(peer => this.#peer(peer, TIER.origin)),
      'host',
    )
  }

  close(): void {
    for (const session of this.#sessions) session.close()
  }

  #session(root: CID, origins: readonly BlockProvider[], owner: string | undefined, lingerMs = 0): FetchSession {
    const { exchange, settings, libp2p, host, clock } = this.#parts
    const session = new ProviderSession({
      owner: owner ?? `session ${this.#unnamed++}`,
      providers: [...origins, ...this.#configured],
      strangers: onPeer => exchange.onPeer(id => onPeer(this.#stranger({ id, addresses: [] }, TIER.stranger))),
      lingerMs,
      discover: settings.dht === 'off' ? null : signal => this.#find(libp2p, root, signal),
      host,
      gate: this.#gate,
      clock,
      onClose: () => this.#sessions.delete(session),
    })
    this.#sessions.add(session)
    return session
  }

  async *#find(libp2p: Libp2p, root: CID, ended: AbortSignal): AsyncGenerator<BlockProvider> {
    const late = (): Error => new Error('the search for providers timed out')
    const deadline = new Deadline({ clock: this.#parts.clock, ms: DISCOVERY_MS, late, signal: ended })
    const { signal } = deadline
    let found = 0
    try {
      for await (const { id, multiaddrs } of libp2p.contentRouting.findProviders(root, { signal })) {
        if (id.equals(libp2p.peerId)) continue
        yield this.#found({ id, addresses: multiaddrs })
        if (++found === MOST_FOUND) return
      }
    } finally {
      deadline.rest()
    }
  }

  #origin(origin: string): BlockProvider {
    const { gateways } = this.#parts
    try {
      if (!/^https?:/i.test(origin)) return this.#peerOrigin(peerAddress(origin))
      const url = gatewayUrl(origin)
      if (!gateways.isAllowed(url)) throw new PrivateAddressError()
      return new GatewayProvider(url, TIER.origin, gateways)
    } catch (cause) {
      const problem = cause instanceof RangeError ? cause.message : 'is neither a multiaddr nor a gateway URL'
      throw badOrigins(`${JSON.stringify(origin)} ${problem}`, cause)
    }
  }

  #peerOrigin(peer: PeerAddress): BlockProvider {
    const { settings } = this.#parts
    const configured = settings.peers.filter(({ id }) => id.equals(peer.id))
    const known = new Set(configured.flatMap(({ addresses }) => addresses.map(String)))
    // The id of a configured peer admits no other private address. A cluster on another system dials what the request
    // names.
    const isRefused = peer.addresses.some(address => leadsInside(address) && !known.has(`${address}`))
    if (!settings.allowPrivateOrigins && isRefused) throw new PrivateAddressError()
    const [first] = configured
    return first === undefined ? this.#stranger(peer, TIER.origin) : this.#peer(first, TIER.origin)
  }

  /** Returns a provider that a router named. In a private network, it has a private address, which may be dialled. */
  #found(peer: PeerAddress): BlockProvider {
    return this.#parts.settings.isPublic ? this.#stranger(peer, TIER.found) : this.#peer(peer, TIER.found)
  }

  /** Dials only public addresses, unless the configuration allows private addresses. */
  #stranger(peer: PeerAddress, tier: number): BlockProvider {
    return this.#peer({ ...peer, publicOnly: !this.#parts.settings.allowPrivateOrigins }, tier)
  }

  #peer(peer: PeerAddress, tier: number): BlockProvider {
    const { exchange, dialler } = this.#parts
    return new PeerProvider(peer, tier, exchange, dialler)
  }
}

class PrivateAddressError extends RangeError {
  override readonly message = 'is at a private address'
}
