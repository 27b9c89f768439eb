import { createHash } from 'node:crypto'
import type { NetworkConfig } from '../config/engine-options.ts'
import { HoldfastError } from '../domain/errors.ts'
import { listenAddresses } from '../domain/listen-addresses.ts'
import { withoutTrailingSlashes } from '../domain/trailing-slashes.ts'
import { type PeerAddress, parseAddress, peerAddress } from './addresses.ts'

export interface NetworkSettings {
  listen: string[]
  announce: string[]
  bootstrap: PeerAddress[]
  /** True if the node dials only public bootstrap nodes of other operators at the start. */
  usesOnlyPublicBootstrap: boolean
  peers: PeerAddress[]
  gateways: URL[]
  dht: 'off' | 'client' | 'server'
  dhtProtocol: string
  /** Identifies the network: `public`, or a digest of a private network's bootstrap nodes and peers. */
  network: string
  /** Private addresses are useless in the public network. */
  isPublic: boolean
  /** True if gateways and peers in requests may have private addresses. */
  allowPrivateOrigins: boolean
}

const PUBLIC_DHT = '/ipfs/kad/1.0.0'
const PRIVATE_DHT = '/ipfs/lan/kad/1.0.0'
/** The operators plan to switch these nodes off on 30 September 2026. No node should rely on these nodes alone. */
const PUBLIC_BOOTSTRAP = [
  '/dnsaddr/bootstrap.libp2p.io/p2p/QmNnooDu7bfjPFoTZYxMNLWUQJyrVwtbZg5gBMjTezGAJN',
  '/dnsaddr/bootstrap.libp2p.io/p2p/QmbLHAnMoJPWSCR5Zhtx6BHJX9KiKNN6tpvbUcqanj75Nb',
  '/dnsaddr/bootstrap.libp2p.io/p2p/QmcZf59bWwK5XFi76CZX8cbJ4BhTzzA3gU1ZjYZcYW3dwt',
]

/** @throws HoldfastError `CONFIG_INVALID`, which names the field */
export function networkSettings(config: NetworkConfig): NetworkSettings {
  const isPublic = config.preset === 'public'
  const { bootstrap = [], peers = [] } = config
  return {
    network: isPublic ? 'public' : `private ${digestOf([...bootstrap, ...peers].toSorted())}`,
    listen: checked('listen', listenAddresses(config)),
    announce: checked('announce', config.announce ?? []),
    bootstrap: peersOf('bootstrap', config.bootstrap ?? (isPublic ? PUBLIC_BOOTSTRAP : [])),
    usesOnlyPublicBootstrap: isPublic && config.bootstrap === undefined && peers.length === 0,
    peers: peersOf('peers', peers),
    gateways: (config.gateways ?? []).map((gateway, i) => orInvalid(`gateways.${i}`, () => gatewayUrl(gateway))),
    dht: config.dht ?? (isPublic ? 'client' : 'off'),
    dhtProtocol: isPublic ? PUBLIC_DHT : PRIVATE_DHT,
    isPublic,
    allowPrivateOrigins: config.allowPrivateGateways ?? false,
  }
}

function digestOf(addresses: readonly string[]): string {
  return createHash('sha256').update(addresses.join(' ')).digest('hex').slice(0, 32)
}

/** Removes a trailing `/ipfs`. @throws RangeError with the problem as its message */
export function gatewayUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol)) throw new RangeError('must be an http or https URL')
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new RangeError('must be a URL without query, fragment or credentials')
  }
  url.pathname = withoutTrailingSlashes(url.pathname).replace(/\/ipfs$/, '')
  return url
}

function peersOf(field: string, addresses: readonly string[]): PeerAddress[] {
  return addresses.map((address, i) => orInvalid(`${field}.${i}`, () => peerAddress(address)))
}

function checked(field: string, addresses: readonly string[]): string[] {
  for (const [i, address] of addresses.entries()) orInvalid(`${field}.${i}`, () => parseAddress(address))
  return [...addresses]
}

function orInvalid<T>(field: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    const problem = cause instanceof RangeError ? cause.message : 'is not valid'
    throw new HoldfastError('CONFIG_INVALID', `network.${field}: ${problem}`, { cause })
  }
}
