import type { HeliaWithLibp2p } from '@helia/libp2p'
import type { ServiceMap } from '@libp2p/interface'
import type { KadDHT } from '@libp2p/kad-dht'
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
import { KeptPeers } from './kept-peers.ts'
import { type NetworkSettings, networkSettings } from './network-settings.ts'
import { PeerRecords } from './peer-records.ts'
import { type Names, systemNames } from './public-addresses.ts'
import type { ServedBlocks } from './served-blocks.ts'
import { SessionFactory } from './session-factory.ts'
import { StartingPoints } from './starting-points.ts'

/** Helia with its libp2p node, as a host program may use it. */
export type HeliaOfNode = HeliaWithLibp2p<ServiceMap>

/** A peer that is connected, once for each connection. */
export interface Connection {
  id: string
  /** A multiaddr: where it is, as seen from here. */
  address: string
  /** Who has dialled. */
  direction: 'inbound' | 'outbound'
  /** In milliseconds since the epoch. */
  since: number
}

/** A running node: it fetches from others, serves to them, and can be used as Helia. */
export interface NetworkNode extends BlockFetcher {
  readonly helia: HeliaOfNode
  readonly peerId: string
  /** Multiaddrs by which the node is reached, with its id. */
  addresses(): string[]
  /** Peers that are connected. */
  peerCount(): number
  /** Whether it belongs to the public network; and if so, whether it has tried to reach it and has no peers. */
  readonly isPublic: boolean
  readonly isAlone: boolean
  connections(): Connection[]
  /** What tells the node's network from others: who is on the same one can find what this node announces. */
  readonly network: string
  /** Whether there are routers to be told of anything. */
  readonly hasRouters: boolean
  /**
   * Tells the routers that the node has a block. False if there is no router.
   *
   * @throws HoldfastError `UNAVAILABLE` if no router took it
   */
  announce(cid: CID, signal: AbortSignal): Promise<boolean>
  /** Has the routers forget it in time. */
  withdraw(cid: CID, signal: AbortSignal): Promise<void>
  /** Ends all sessions and connections. Leaves the datastore open. */
  stop(): Promise<void>
}

export interface NetworkOptions {
  config: NetworkConfig
  blocks: ServedBlocks
  /** Open; holds the identity of the node, what it knows of peers, and the host program's own blocks. */
  datastore: Datastore
  clock: Clock
  logger: Logger
  /** Of large blocks, off the event loop. Default: in libuv's pool. */
  hash?: typeof digestOf
  /** Default: those of the system. */
  names?: Names
}

/**
 * Starts a node; configured peers are dialled in the background. The caller stops it, before closing the datastore.
 *
 * @throws HoldfastError `CONFIG_INVALID` naming the field of the network's configuration that is wrong, `listen`
 * where an address cannot be listened on; `DATA_DIR_UNUSABLE` if its identity cannot be read.
 */
export async function startNetwork(options: NetworkOptions): Promise<NetworkNode> {
  const { config, blocks, datastore, clock, logger, hash = digestOf, names = systemNames } = options
  const settings = networkSettings(config)
  const host = new HostBlockStore(datastore)
  await host.open()
  const blockstore = new HeliaBlockstore(host, blocks)
  const broker = new HeliaBroker((root, peers) => sessions.openWith(root, peers))
  const misconduct = new Misconduct(clock)
  const records = new PeerRecords(datastore, clock)
  const helia = createHeliaNode({ settings, blockstore, datastore: records, broker, misconduct })
  await startHelia(helia, settings)
  const { libp2p } = helia
  const dialler = new Dialler(libp2p, clock, names)
  const exchange = new BlockExchange({ libp2p, blocks, hash, misconduct, clock, logger })
  const gateways = new GatewayClient({
    trusted: new Set(settings.gateways.map(({ origin }) => origin)),
    allowPrivate: settings.allowPrivateOrigins,
    onPrivate: ({ origin }) =>
      logger.warn({ gateway: origin }, 'a gateway leads to a private address and is not asked'),
  })
  const good = new GoodPeers(datastore)
  await good.load()
  const starting = new StartingPoints({ libp2p, settings, good, dialler, clock, logger })
  const kept = new KeptPeers(settings.peers, { libp2p, dialler, clock, logger })
  const sessions = new SessionFactory({ libp2p, settings, exchange, dialler, gateways, host, clock })
  await exchange.start()
  kept.start()
  starting.start()
  return {
    helia,
    peerId: libp2p.peerId.toString(),
    addresses: () => libp2p.getMultiaddrs().map(String),
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
      await helia.stop()
      await records.flush()
      await gateways.close()
    },
  }
}

/** Through the DHT itself: libp2p's content routing succeeds as well where nobody was told. */
async function announceTo(dht: KadDHT, cid: CID, signal: AbortSignal): Promise<void> {
  let told = 0
  for await (const event of dht.provide(cid, { signal })) {
    if (event.name === 'PEER_RESPONSE' && event.messageName === 'ADD_PROVIDER') told++
  }
  if (told === 0) throw new HoldfastError('UNAVAILABLE', 'no peer of the network took the announcement')
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
