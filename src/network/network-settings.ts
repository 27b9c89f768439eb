import { createHash } from 'node:crypto'
import type { NetworkConfig } from '../config/engine-options.ts'
import { HoldfastError } from '../domain/errors.ts'
import { withoutTrailingSlashes } from '../domain/trailing-slashes.ts'
import { type PeerAddress, parseAddress, peerAddress } from './addresses.ts'

/** A network configuration with everything decided. */
export interface NetworkSettings {
  listen: string[]
  announce: string[]
  /** Where the rest of the network is found. */
  bootstrap: PeerAddress[]
  /** Whether all starting points are public nodes that nobody here runs. */
  restsOnOthers: boolean
  peers: PeerAddress[]
  gateways: URL[]
  dht: 'off' | 'client' | 'server'
  /** By which routers of the network are known. */
  dhtProtocol: string
  /** What tells the network from others: `public`, or a digest of where a private one begins. */
  network: string
  /** Whether routing is the public network's, where private addresses mean nothing. */
  isPublic: boolean
  /** Whether gateways and peers that others name may be at private addresses. */
  allowPrivateOrigins: boolean
}

const LOOPBACK = ['/ip4/127.0.0.1/tcp/0']
/** The port by which nodes of the public network are usually found. */
const ALL_INTERFACES = ['/ip4/0.0.0.0/tcp/4001', '/ip6/::/tcp/4001']
/** The DHT of the public network, and one that a private network has to itself. */
const PUBLIC_DHT = '/ipfs/kad/1.0.0'
const PRIVATE_DHT = '/ipfs/lan/kad/1.0.0'
/**
 * Where nodes of the public network begin. Its former maintainers were to switch these off on 30 September 2026, so
 * nobody may rely on them alone.
 */
const PUBLIC_BOOTSTRAP = [
  '/dnsaddr/bootstrap.libp2p.io/p2p/QmNnooDu7bfjPFoTZYxMNLWUQJyrVwtbZg5gBMjTezGAJN',
  '/dnsaddr/bootstrap.libp2p.io/p2p/QmbLHAnMoJPWSCR5Zhtx6BHJX9KiKNN6tpvbUcqanj75Nb',
  '/dnsaddr/bootstrap.libp2p.io/p2p/QmcZf59bWwK5XFi76CZX8cbJ4BhTzzA3gU1ZjYZcYW3dwt',
]

/** @throws HoldfastError `CONFIG_INVALID` naming the field. */
export function networkSettings(config: NetworkConfig): NetworkSettings {
  const isPublic = config.preset === 'public'
  const { bootstrap = [], peers = [] } = config
  return {
    network: isPublic ? 'public' : `private ${digestOf([...bootstrap, ...peers].toSorted())}`,
    listen: checked('listen', config.listen ?? (isPublic ? ALL_INTERFACES : LOOPBACK)),
    announce: checked('announce', config.announce ?? []),
    bootstrap: peersOf('bootstrap', config.bootstrap ?? (isPublic ? PUBLIC_BOOTSTRAP : [])),
    restsOnOthers: isPublic && config.bootstrap === undefined && peers.length === 0,
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

/** @throws RangeError saying what is wrong. */
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
