import type { HeliaWithLibp2p } from '@helia/libp2p'
import type { ServiceMap } from '@libp2p/interface'
import type { KadDHT } from '@libp2p/kad-dht'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { Datastore } from 'interface-datastore'
import type { CID } from 'multiformats/cid'
import type { NetworkConfig } from '../config/engine-options.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import { digestOf } from '../ipld/block-hash.ts'
import { GatewayClient } from '../outgoing/gateway-client.ts'
import type { BlockFetcher } from './block-fetcher.ts'
import { Dialler } from './dialler.ts'
import { BlockExchange } from './exchange/block-exchange.ts'
import { Misconduct } from './exchange/misconduct.ts'
import { GoodPeers } from './good-peers.ts'
import { HeliaBlockstore } from './helia-blockstore.ts'
import { HeliaBroker } from './helia-broker.ts'
import { createHeliaNode } from './helia-node.ts'
import { HostBlockStore } from './host-block-store.ts'
import { httpAddressOf } from './http-address.ts'
import { KeptPeers } from './kept-peers.ts'
import { type NetworkSettings, networkSettings } from './network-settings.ts'
import { PeerRecords } from './peer-records.ts'
import { leadsInside, type Names, systemNames } from './public-addresses.ts'
import type { ServedBlocks } from './served-blocks.ts'
import { SessionFactory } from './session-factory.ts'
import { StartingPoints } from './starting-points.ts'
import { StrangerRecords } from './stranger-records.ts'

/** Helia with its libp2p node. The host program may use both. */
export type HeliaOfNode = HeliaWithLibp2p<ServiceMap>

export interface Connection {
  id: string
  address: string
  /** `outbound` if this node dialled the peer. */
  direction: 'inbound' | 'outbound'
  /** In ms since the epoch. */
  since: number
}

export interface NetworkNode extends BlockFetcher {
  readonly helia: HeliaOfNode
  readonly peerId: string
  /** Returns the multiaddrs at which other nodes can dial this node. Each multiaddr ends in the peer id. */
  addresses(): string[]
  /**
   * Returns the multiaddrs to tell others, without the peer id: the configured ones, or else the public ones of those
   * listened on.
   */
  announced(): string[]
  peerCount(): number
  readonly isPublic: boolean
  /** True if the node has tried to reach the public network and has no peers. */
  readonly isAlone: boolean
  connections(): Connection[]
  /** Nodes with the same value can find each other's provider records. */
  readonly network: string
  readonly hasRouters: boolean
  /** Returns false if the node has no router. @throws HoldfastError `UNAVAILABLE` if no router accepted the record */
  announce(cid: CID, signal: AbortSignal): Promise<boolean>
  /** Stops renewing the provider record of a CID. The routers then forget the record. */
  withdraw(cid: CID, signal: AbortSignal): Promise<void>
  /** Does not close the datastore. */
  stop(): Promise<void>
}

export interface NetworkOptions {
  config: NetworkConfig
  /** Public URL of the gateway, which the node announces as an address if it is `https`. */
  gatewayUrl?: string | undefined
  blocks: ServedBlocks
  /** Open datastore for the node's identity, its peer records, and the blocks of the host program. */
  datastore: Datastore
  clock: Clock
  logger: Logger
  /** Default: the thread pool of libuv. */
  hash?: typeof digestOf
  /** Default: the system's resolver. */
  names?: Names
}

/**
 * Dials the configured peers in the background. The caller must stop the node before closing the datastore.
 * @throws HoldfastError `CONFIG_INVALID`, which names the invalid field of the network configuration, or `listen` if an
 * address is unavailable; `DATA_DIR_UNUSABLE` if the identity cannot be read
 */
export async function startNetwork(options: NetworkOptions): Promise<NetworkNode> {
  const { config, gatewayUrl, blocks, datastore, clock, logger, hash = digestOf, names = systemNames } = options
  const settings = networkSettings(config)
  const host = new HostBlockStore(datastore)
  await host.open()
  const blockstore = new HeliaBlockstore(host, blocks)
  const broker = new HeliaBroker((root, peers) => sessions.openWith(root, peers))
  const misconduct = new Misconduct(clock)
  const strangers = new StrangerRecords(datastore, clock)
  const records = new PeerRecords(strangers, clock)
  const gateway = gatewayUrl?.startsWith('https:') ? httpAddressOf(gatewayUrl) : null
  const helia = createHeliaNode({ settings, gateway, blockstore, datastore: records, broker, misconduct })
  await startHelia(helia, settings)
  const { libp2p } = helia
  const dialler = new Dialler(libp2p, clock, names)
  const exchange = new BlockExchange({ libp2p, blocks, hash, misconduct, clock, logger })
  const gateways = new GatewayClient({
    trusted: new Set(settings.gateways.map(({ origin }) => origin)),
    allowPrivate: settings.allowPrivateOrigins,
    onPrivate: ({ origin }) => logger.warn({ gateway: origin }, 'skips a gateway: it has a private address'),
  })
  const good = new GoodPeers(datastore)
  await good.load()
  const starting = new StartingPoints({ libp2p, settings, good, dialler, clock, logger })
  const kept = new KeptPeers(settings.peers, { libp2p, dialler, clock, logger })
  const sessions = new SessionFactory({ libp2p, settings, exchange, dialler, gateways, host, clock })
  await exchange.start()
  void strangers.start(libp2p, error => logger.warn({ err: error }, 'cannot count the records of peers'))
  kept.start()
  starting.start()
  return {
    helia,
    peerId: libp2p.peerId.toString(),
    addresses: () => libp2p.getMultiaddrs().map(String),
    announced: () => (settings.announce.length > 0 ? settings.announce : listenedOn(libp2p)).map(withoutPeer),
    peerCount: () => libp2p.getPeers().length,
    isPublic: settings.isPublic,
    get isAlone(): boolean {
      return starting.isAlone
    },
    connections: () =>
      libp2p.getConnections().map(({ remotePeer, remoteAddr, direction, timeline }) => ({
        id: remotePeer.toString(),
        address: remoteAddr.toString(),
        direction,
        since: timeline.open,
      })),
    canAsk: origins => sessions.canAsk(origins),
    usable: origins => sessions.usable(origins),
    open: (root, options) => sessions.open(root, options),
    network: settings.network,
    hasRouters: settings.dht !== 'off',
    announce: async (cid, signal) => {
      if (settings.dht === 'off') return false
      await announceTo(libp2p.services.dht as KadDHT, cid, signal)
      return true
    },
    withdraw: async (cid, signal) => {
      if (settings.dht !== 'off') await libp2p.contentRouting.cancelReprovide(cid, { signal })
    },
    stop: async () => {
      kept.stop()
      await starting.stop()
      dialler.stop()
      sessions.close()
      await exchange.stop()
      await strangers.stop()
      await helia.stop()
      await records.flush()
      await gateways.close()
    },
  }
}

function listenedOn(libp2p: Pick<HeliaOfNode['libp2p'], 'getMultiaddrs'>): string[] {
  const isHttp = (address: Multiaddr): boolean => address.getComponents().some(({ name }) => name === 'http')
  return libp2p
    .getMultiaddrs()
    .filter(address => !leadsInside(address) && !isHttp(address))
    .map(String)
}

function withoutPeer(address: string): string {
  return address.replace(/\/p2p\/[^/]+$/, '')
}

/** Publishes through the DHT directly. libp2p's content routing would also succeed if no peer accepted the record. */
async function announceTo(dht: KadDHT, cid: CID, signal: AbortSignal): Promise<void> {
  let accepted = 0
  for await (const event of dht.provide(cid, { signal })) {
    if (event.name === 'PEER_RESPONSE' && event.messageName === 'ADD_PROVIDER') accepted++
  }
  if (accepted === 0) throw new HoldfastError('UNAVAILABLE', 'no peer of the network accepted the announcement')
}

async function startHelia(helia: HeliaOfNode, settings: NetworkSettings): Promise<void> {
  try {
    await helia.start()
  } catch (cause) {
    await helia.stop().catch(() => undefined)
    if (isHoldfastError(cause)) throw cause
    const addresses = settings.listen.join(', ')
    throw new HoldfastError('CONFIG_INVALID', `network.listen: cannot listen on ${addresses}`, { cause })
  }
}
