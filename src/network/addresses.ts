import type { PeerId } from '@libp2p/interface'
import { peerIdFromCID, peerIdFromString } from '@libp2p/peer-id'
import { isMultiaddr, type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import type { CID } from 'multiformats/cid'

/** A peer and where it may be; without addresses, where libp2p knows it to be. */
export interface PeerAddress {
  id: PeerId
  addresses: Multiaddr[]
  /** It is looked for on the public internet only, since somebody else has said where it is. */
  publicOnly?: boolean
}

// The id of a peer is base58 or base36, which take quadratic time, so this is the only file that decodes addresses.

/** Characters of a multiaddr. */
const LONGEST_ADDRESS = 1_024
/** Bytes of a peer's id: a key, or its hash. */
const LONGEST_ID = 128

/**
 * A multiaddr. Its length is checked before it is decoded.
 *
 * @throws RangeError saying what is wrong.
 */
export function parseAddress(text: string): Multiaddr {
  if (text.length > LONGEST_ADDRESS) throw new RangeError(`has more than ${LONGEST_ADDRESS} characters`)
  try {
    return multiaddr(text)
  } catch (cause) {
    throw new RangeError('is not a multiaddr', { cause })
  }
}

/**
 * A peer by its multiaddr, which ends in `/p2p/<id>`.
 *
 * @throws RangeError saying what is wrong.
 */
export function peerAddress(text: string): PeerAddress {
  const address = parseAddress(text)
  const last = address.getComponents().at(-1)
  if (last?.name !== 'p2p' || last.value === undefined) throw new RangeError('must end in /p2p/ and the id of a peer')
  return { id: peerIdFromString(last.value), addresses: address.getComponents().length > 1 ? [address] : [] }
}

/** A peer as Helia names one: by an address, or by its id alone. Nothing for an address that does not say whose it is. */
export function peersOf(provider: CID | Multiaddr): PeerAddress[] {
  if (!isMultiaddr(provider)) {
    return provider.multihash.size > LONGEST_ID ? [] : [{ id: peerIdFromCID(provider), addresses: [] }]
  }
  const isNamed = provider.getComponents().at(-1)?.name === 'p2p'
  return isNamed ? [peerAddress(provider.toString())] : []
}
