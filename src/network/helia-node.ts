import { type HeliaWithLibp2p, withLibp2pLight } from '@helia/libp2p'
import * as dagCbor from '@ipld/dag-cbor'
import * as dagJson from '@ipld/dag-json'
import { type IdentifyComponents, identify } from '@libp2p/identify'
import type { MultiaddrConnection, PeerId, ServiceMap } from '@libp2p/interface'
import { kadDHT, passthroughMapper, removePrivateAddressesMapper } from '@libp2p/kad-dht'
import { ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { createHeliaLight } from 'helia'
import type { Blockstore } from 'interface-blockstore'
import type { Datastore } from 'interface-datastore'
import * as json from 'multiformats/codecs/json'
import { sha512 } from 'multiformats/hashes/sha2'
import { VERSION } from '../domain/version.ts'
import type { Misconduct } from './exchange/misconduct.ts'
import type { HeliaBroker } from './helia-broker.ts'
import { InboundPlaces, MOST_CONNECTIONS, MOST_HANDSHAKES } from './inbound-places.ts'
import type { NetworkSettings } from './network-settings.ts'
import { noRouting } from './no-routing.ts'
import { limitPeers } from './peer-limits.ts'
import { beginNegotiation } from './wire/negotiation.ts'
import { leanNoise } from './wire/noise.ts'
import { rareYamux } from './wire/rare-updates.ts'

/** libp2p resets a stream with more unread bytes than this. */
const STREAM_WINDOW_BYTES = 2 * 1024 * 1024

/**
 * Creates a Helia node without discovery, relay, port mapping and certificates. The engine's own exchange handles
 * Bitswap. The caller starts and stops the node.
 */
export function createHeliaNode(options: {
  settings: NetworkSettings
  /** Multiaddr of the gateway to announce beside the others. */
  gateway: string | null
  blockstore: Blockstore
  datastore: Datastore
  broker: HeliaBroker
  misconduct: Misconduct
}): HeliaWithLibp2p<ServiceMap> {
  const { settings, gateway, blockstore, datastore, broker, misconduct } = options
  const helia = createHeliaLight({
    blockstore,
    datastore,
    blockBrokers: [broker],
    codecs: [dagCbor, dagJson, json],
    hashers: [sha512],
  })
  const places = new InboundPlaces()
  const common = {
    nodeInfo: { name: 'holdfast', version: VERSION, userAgent: `holdfast/${VERSION}` },
    addresses: announced(settings, gateway === null ? [] : [gateway]),
    transports: [tcp()],
    connectionEncrypters: [leanNoise()],
    streamMuxers: [rareYamux({ streamOptions: { maxStreamWindowSize: STREAM_WINDOW_BYTES } }, STREAM_WINDOW_BYTES)],
    connectionManager: { maxConnections: MOST_CONNECTIONS, maxIncomingPendingConnections: MOST_HANDSHAKES },
    connectionGater: {
      denyInboundConnection: (connection: MultiaddrConnection) => {
        beginNegotiation(connection)
        return !places.take(connection)
      },
      denyOutboundConnection: (_: PeerId, connection: MultiaddrConnection) => {
        beginNegotiation(connection)
        return false
      },
      denyInboundEncryptedConnection: (id: PeerId) => misconduct.isBanned(id.toString()),
    },
  }
  const services = {
    identify: (components: IdentifyComponents) => {
      limitPeers(components, settings.dhtProtocol)
      return identify()(components)
    },
    ping: ping(),
  }
  if (settings.dht === 'off') {
    return withLibp2pLight(helia, { ...common, services, contentRouters: [() => noRouting] })
  }
  const dht = kadDHT({
    protocol: settings.dhtProtocol,
    clientMode: settings.dht === 'client',
    peerInfoMapper: settings.isPublic ? removePrivateAddressesMapper : passthroughMapper,
  })
  return withLibp2pLight(helia, { ...common, services: { ...services, dht } })
}

/** Returns the addresses to announce. libp2p ignores `appendAnnounce` if `announce` has addresses. */
function announced({ listen, announce }: NetworkSettings, more: string[]) {
  if (announce.length === 0) return { listen, appendAnnounce: more }
  return { listen, announce: [...announce, ...more] }
}
