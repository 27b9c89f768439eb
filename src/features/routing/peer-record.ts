/** The schema `peer` of the routing API (IPIP-0337). */
export interface PeerRecord {
  Schema: 'peer'
  ID: string
  /** Multiaddrs without the peer id. */
  Addrs: string[]
  Protocols: string[]
}

/** Identity and addresses of this node, as it tells others. */
export interface OwnPeer {
  peerId: string
  /** Multiaddrs for Bitswap. Null while the network is off. */
  bitswap: readonly string[] | null
  /** Multiaddr of the gateway. Null if the configuration names no public URL of the gateway, or one with a path. */
  http: string | null
}

/** Values of `filter-addrs` and `filter-protocols` (IPIP-0484), in lower case. Empty lets everything pass. */
export interface RecordFilters {
  addrs: readonly string[]
  protocols: readonly string[]
}

const BITSWAP = 'transport-bitswap'
const HTTP_GATEWAY = 'transport-ipfs-gateway-http'
/** Lets records pass that have no addresses, or no protocols. */
const UNKNOWN = 'unknown'

/**
 * Returns the record of this node, or null if nobody could reach it.
 *
 * @param hasBlocks false if only another node of the fleet has the content, which this node serves over HTTP alone
 */
export function recordOf({ peerId, bitswap, http }: OwnPeer, hasBlocks: boolean): PeerRecord | null {
  const peers = hasBlocks ? bitswap : null
  const Addrs = [...(peers ?? []), ...(http === null ? [] : [http])]
  if (Addrs.length === 0) return null
  const Protocols = [...(peers === null ? [] : [BITSWAP]), ...(http === null ? [] : [HTTP_GATEWAY])]
  return { Schema: 'peer', ID: peerId, Addrs, Protocols }
}

export function filtersOf(query: URLSearchParams): RecordFilters {
  return { addrs: listIn(query, 'filter-addrs'), protocols: listIn(query, 'filter-protocols') }
}

function listIn(query: URLSearchParams, name: string): string[] {
  const given = query.get(name)?.toLowerCase() ?? ''
  return given.split(',').filter(value => value !== '')
}

/** Applies filters. Returns null if the record has none of the wanted protocols or addresses. */
export function filtered(record: PeerRecord, { addrs, protocols }: RecordFilters): PeerRecord | null {
  if (!passes(record.Protocols, protocols)) return null
  if (addrs.length === 0 || (record.Addrs.length === 0 && addrs.includes(UNKNOWN))) return record
  const unwanted = addrs.filter(name => name.startsWith('!')).map(name => name.slice(1))
  const wanted = addrs.filter(name => !name.startsWith('!'))
  const left = record.Addrs.filter(address => {
    const names = address.toLowerCase().split('/')
    return !hasAny(names, unwanted) && (wanted.length === 0 || hasAny(names, wanted))
  })
  return left.length === 0 ? null : { ...record, Addrs: left }
}

function passes(protocols: readonly string[], wanted: readonly string[]): boolean {
  return wanted.length === 0 || hasAny(protocols, wanted) || (protocols.length === 0 && wanted.includes(UNKNOWN))
}

function hasAny(names: readonly string[], wanted: readonly string[]): boolean {
  return wanted.some(name => names.includes(name))
}
