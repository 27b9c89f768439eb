import type { PeerId } from '@libp2p/interface'
import { peerIdFromCID, peerIdFromString } from '@libp2p/peer-id'
import { isMultiaddr, type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import type { CID } from 'multiformats/cid'

export interface PeerAddress {
  id: PeerId
  addresses: Multiaddr[]
  /** True to dial only public addresses, if an untrusted third party named the addresses. */
  publicOnly?: boolean
}

// Decoding a peer id (base58 or base36) takes quadratic time. Only this file decodes addresses, after a length check.

const LONGEST_ADDRESS = 1_024
const LONGEST_ID = 128

/** Checks the length of a multiaddr, then parses it. @throws RangeError with the problem as its message */
export function parseAddress(text: string): Multiaddr {
  if (text.length > LONGEST_ADDRESS) throw new RangeError(`has more than ${LONGEST_ADDRESS} characters`)
  try {
    return multiaddr(text)
  } catch (cause) {
    throw new RangeError('is not a multiaddr', { cause })
  }
}

/** Parses a multiaddr that ends in `/p2p/<id>`. @throws RangeError with the problem as its message */
export function peerAddress(text: string): PeerAddress {
  const address = parseAddress(text)
  const last = address.getComponents().at(-1)
  if (last?.name !== 'p2p' || last.value === undefined) throw new RangeError('must end in /p2p/ and the id of a peer')
  return { id: peerIdFromString(last.value), addresses: address.getComponents().length > 1 ? [address] : [] }
}

/** Returns an empty array for an address without a peer id. */
export function peersOf(provider: CID | Multiaddr): PeerAddress[] {
  if (!isMultiaddr(provider)) {
    return provider.multihash.size > LONGEST_ID ? [] : [{ id: peerIdFromCID(provider), addresses: [] }]
  }
  const isNamed = provider.getComponents().at(-1)?.name === 'p2p'
  return isNamed ? [peerAddress(provider.toString())] : []
}
