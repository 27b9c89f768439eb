import { type Datastore, Key } from 'interface-datastore'
import { type PeerAddress, peerAddress } from './addresses.ts'

/** A router that has answered a dial of this node. */
interface GoodPeer {
  id: string
  /** Newest first. Each address ends in the peer id. */
  addresses: string[]
  /** In ms since the epoch. */
  answeredAt: number
}

const KEY = new Key('/holdfast/good-peers')
const MOST_PEERS = 64
const MOST_ADDRESSES = 3
const MOST_CHARACTERS = 256
const MOST_BYTES = 128 * 1024
/**
 * Maximum number of peers in one network. A network is the first 16 bits of an IPv4 address or the first 32 bits of an
 * IPv6 address.
 */
const MOST_OF_NETWORK = 2
/** Time without contact after which a new peer may replace a known peer. */
const SILENT_MS = 7 * 86_400_000

/**
 * Remembers routers that answered a dial, to rejoin the network after a restart. A flood of new peers cannot displace
 * peers that answered within a week.
 */
export class GoodPeers {
  readonly #store: Datastore
  readonly #peers = new Map<string, GoodPeer>()
  #isSaved = true

  constructor(store: Datastore) {
    this.#store = store
  }

  /** Skips malformed entries. */
  async load(): Promise<void> {
    if (!(await this.#store.has(KEY))) return
    for (const peer of read(await this.#store.get(KEY))) {
      if (this.#peers.size < MOST_PEERS) this.#peers.set(peer.id, peer)
    }
  }

  get size(): number {
    return this.#peers.size
  }

  /** Returns all remembered peers, most recent answer first. */
  addresses(): PeerAddress[] {
    const latest = [...this.#peers.values()].toSorted((a, b) => b.answeredAt - a.answeredAt)
    return latest.flatMap(({ addresses }) => {
      const parsed = addresses.map(peerAddress)
      const [first] = parsed
      return first === undefined ? [] : [{ id: first.id, addresses: parsed.flatMap(peer => peer.addresses) }]
    })
  }

  /** Returns false if there is no room to remember the peer. */
  answered(id: string, address: string, now: number): boolean {
    if (address.length > MOST_CHARACTERS) return false
    const known = this.#peers.get(id)
    if (known === undefined && !this.#hasRoom(address, now)) return false
    const others = known?.addresses.filter(other => other !== address) ?? []
    this.#peers.set(id, { id, addresses: [address, ...others].slice(0, MOST_ADDRESSES), answeredAt: now })
    this.#isSaved = false
    return true
  }

  async save(): Promise<void> {
    if (this.#isSaved) return
    this.#isSaved = true
    await this.#store.put(KEY, Buffer.from(JSON.stringify([...this.#peers.values()])))
  }

  #hasRoom(address: string, now: number): boolean {
    const network = networkOf(address)
    const peers = [...this.#peers.values()]
    const isOfNetwork = ({ addresses }: GoodPeer): boolean => addresses.some(other => networkOf(other) === network)
    const isSilent = ({ answeredAt }: GoodPeer): boolean => now - answeredAt > SILENT_MS || answeredAt > now
    const neighbours = peers.filter(isOfNetwork)
    const isCrowded = neighbours.length >= MOST_OF_NETWORK
    if (!isCrowded && peers.length < MOST_PEERS) return true
    const oldest = (isCrowded ? neighbours : peers).filter(isSilent).toSorted((a, b) => a.answeredAt - b.answeredAt)[0]
    return oldest !== undefined && this.#peers.delete(oldest.id)
  }
}

function networkOf(address: string): string {
  const [, kind, host = ''] = address.split('/')
  return kind === 'ip6' ? host.split(':').slice(0, 2).join(':') : host.split('.').slice(0, 2).join('.')
}

function read(bytes: Uint8Array): GoodPeer[] {
  if (bytes.length > MOST_BYTES) return []
  const known: unknown = parsed(bytes)
  return (Array.isArray(known) ? (known as unknown[]) : []).filter(isGoodPeer)
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    return null
  }
}

function isGoodPeer(value: unknown): value is GoodPeer {
  const { id, addresses, answeredAt } = Object(value) as Partial<Record<keyof GoodPeer, unknown>>
  if (typeof id !== 'string' || typeof answeredAt !== 'number' || !Array.isArray(addresses)) return false
  if (addresses.length === 0 || addresses.length > MOST_ADDRESSES) return false
  return addresses.every(address => isAddressOf(id, address))
}

function isAddressOf(id: string, address: unknown): boolean {
  if (typeof address !== 'string' || address.length > MOST_CHARACTERS) return false
  try {
    return peerAddress(address).id.toString() === id
  } catch {
    return false
  }
}
