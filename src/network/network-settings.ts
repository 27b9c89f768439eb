import { peerIdFromString } from '@libp2p/peer-id'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { HoldfastError } from '../domain/errors.ts'
import type { NetworkConfig } from '../domain/options.ts'
import { withoutTrailingSlashes } from '../domain/trailing-slashes.ts'
import type { PeerAddress } from './dialler.ts'

/** A network configuration with everything decided. */
export interface NetworkSettings {
  listen: string[]
  announce: string[]
  bootstrap: string[]
  peers: PeerAddress[]
  gateways: URL[]
  dht: 'off' | 'client' | 'server'
  /** Whether routing is the public network's, where private addresses mean nothing. */
  isPublic: boolean
  /** Whether gateways and peers that others name may be at private addresses. */
  allowPrivateOrigins: boolean
}

const LOOPBACK = ['/ip4/127.0.0.1/tcp/0']
/** The port by which nodes of the public network are usually found. */
const ALL_INTERFACES = ['/ip4/0.0.0.0/tcp/4001', '/ip6/::/tcp/4001']
/** Where nodes of the public network begin, run by its maintainers. */
const PUBLIC_BOOTSTRAP = [
  '/dnsaddr/bootstrap.libp2p.io/p2p/QmNnooDu7bfjPFoTZYxMNLWUQJyrVwtbZg5gBMjTezGAJN',
  '/dnsaddr/bootstrap.libp2p.io/p2p/QmbLHAnMoJPWSCR5Zhtx6BHJX9KiKNN6tpvbUcqanj75Nb',
  '/dnsaddr/bootstrap.libp2p.io/p2p/QmcZf59bWwK5XFi76CZX8cbJ4BhTzzA3gU1ZjYZcYW3dwt',
]

/** @throws HoldfastError `CONFIG_INVALID` naming the field. */
export function networkSettings(config: NetworkConfig): NetworkSettings {
  const isPublic = config.preset === 'public'
  return {
    listen: checked('listen', config.listen ?? (isPublic ? ALL_INTERFACES : LOOPBACK)),
    announce: checked('announce', config.announce ?? []),
    bootstrap: checked('bootstrap', config.bootstrap ?? (isPublic ? PUBLIC_BOOTSTRAP : [])),
    peers: (config.peers ?? []).map((peer, i) => orInvalid(`peers.${i}`, () => peerAddress(peer))),
    gateways: (config.gateways ?? []).map((gateway, i) => orInvalid(`gateways.${i}`, () => gatewayUrl(gateway))),
    dht: config.dht ?? (isPublic ? 'client' : 'off'),
    isPublic,
    allowPrivateOrigins: config.allowPrivateGateways ?? false,
  }
}

/**
 * A peer by its multiaddr, which ends in `/p2p/<id>`.
 *
 * @throws RangeError saying what is wrong.
 */
export function peerAddress(text: string): PeerAddress {
  const address = parse(text)
  const last = address.getComponents().at(-1)
  if (last?.name !== 'p2p' || last.value === undefined) throw new RangeError('must end in /p2p/ and the id of a peer')
  return { id: peerIdFromString(last.value), addresses: address.getComponents().length > 1 ? [address] : [] }
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

function parse(text: string): Multiaddr {
  try {
    return multiaddr(text)
  } catch (cause) {
    throw new RangeError('is not a multiaddr', { cause })
  }
}

function checked(field: string, addresses: readonly string[]): string[] {
  for (const [i, address] of addresses.entries()) orInvalid(`${field}.${i}`, () => parse(address))
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
