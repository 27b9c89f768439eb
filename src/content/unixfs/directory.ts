import { murmur364 } from '@multiformats/murmur3'
import { UnixFS } from 'ipfs-unixfs'
import { linkSerializedSize } from 'ipfs-unixfs-importer/utils'
import { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { bytesOfText } from '../../domain/byte-text.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { CODEC, cidOfBytes } from '../../ipld/cid.ts'
import { type NewLink, pbNodeBytes } from '../dag/pb-node-bytes.ts'
import type { StagedDag } from '../dag/staged-dag.ts'
import { NO_ATTRIBUTES } from './attributes.ts'

/** Uses little memory, because a directory may have millions of entries. */
export interface StoredEntry {
  /** Bytes of the CID, one character per byte. */
  cid: string
  /** Total size in bytes of all blocks below, including repeated blocks. */
  tsize: number
}

/** Size in bytes above which a directory is sharded, as in the profile `unixfs-v1-2025` (IPIP-499). */
const LARGEST_FLAT_BYTES = 256 * 1024
/** Maximum number of children of one shard. Each level uses one byte of a name's hash. */
const FANOUT = 256
const HASH_BYTES = 8
/** Multicodec code of MurmurHash3 x64 64, the only hash function for shards. */
const HASH_TYPE = 0x22n

const FLAT = new UnixFS({ type: 'directory' }).marshal()
/** Key and length of the UnixFS data in a block. */
const DATA_OVERHEAD = 2

export interface DirectoryOptions {
  /** Fields of `attributeFields`. A HAMT has them in its root. */
  attributes?: Uint8Array
  signal?: AbortSignal | undefined
}

/**
 * Stores one directory whose entries are already stored. Stores a large directory as a HAMT.
 *
 * @param entries by the text forms of their names
 * @throws the reason of the signal; HoldfastError `VALIDATION` if more names have the same hash than a HAMT can hold
 */
export async function storeDirectory(
  staged: StagedDag,
  entries: ReadonlyMap<string, StoredEntry>,
  { attributes = NO_ATTRIBUTES, signal }: DirectoryOptions = {},
): Promise<StoredEntry> {
  const data = Buffer.concat([FLAT, attributes])
  let bytes = DATA_OVERHEAD + data.length
  for (const [name, { cid, tsize }] of entries) {
    if (turnSpent()) await nextTurn(signal)
    bytes += linkSerializedSize(bytesOfText(name).length, cid.length, tsize)
    if (bytes > LARGEST_FLAT_BYTES) return new ShardedDirectory(staged, entries, signal).store(attributes)
  }
  return storeNode(staged, data, [...entries].map(linkOf))
}

export function compactCid(cid: CID): string {
  return Buffer.from(cid.bytes.buffer, cid.bytes.byteOffset, cid.bytes.byteLength).toString('latin1')
}

export function cidOfCompact(compact: string): CID {
  return cidOfBytes(Buffer.from(compact, 'latin1'))
}

/** Hashes all names once, then groups them at each level by one byte of their hash. */
class ShardedDirectory {
  readonly #staged: StagedDag
  readonly #entries: ReadonlyMap<string, StoredEntry>
  readonly #names: string[]
  readonly #hashes: Buffer
  readonly #signal: AbortSignal | undefined

  constructor(staged: StagedDag, entries: ReadonlyMap<string, StoredEntry>, signal: AbortSignal | undefined) {
    this.#signal = signal
    this.#staged = staged
    this.#entries = entries
    this.#names = [...entries.keys()]
    this.#hashes = Buffer.alloc(HASH_BYTES * this.#names.length)
  }

  async store(attributes: Uint8Array): Promise<StoredEntry> {
    const members = new Uint32Array(this.#names.length)
    for (const [index, name] of this.#names.entries()) {
      if (turnSpent()) await nextTurn(this.#signal)
      this.#hashes.set(murmur364.encode(bytesOfText(name)) as Uint8Array, HASH_BYTES * index)
      members[index] = index
    }
    return this.#shard(members, 0, attributes)
  }

  async #shard(members: Iterable<number>, level: number, attributes = NO_ATTRIBUTES): Promise<StoredEntry> {
    if (level === HASH_BYTES) throw new HoldfastError('VALIDATION', 'names of the directory have the same hash')
    const links: NewLink[] = []
    const slots = await this.#grouped(members, level)
    for (const [slot, own] of slots) {
      if (turnSpent()) await nextTurn(this.#signal)
      const prefix = slot.toString(16).toUpperCase().padStart(2, '0')
      const [only = 0] = own
      const name = this.#names[only] ?? ''
      const entry = own.length === 1 ? this.#entries.get(name) : await this.#shard(own, level + 1)
      if (entry === undefined) throw new HoldfastError('INTERNAL_ERROR', 'a directory has changed while it was stored')
      links.push(linkOf([own.length === 1 ? prefix + name : prefix, entry]))
    }
    const shard = new UnixFS({
      type: 'hamt-sharded-directory',
      data: bitField(slots.map(([slot]) => slot)),
      fanout: BigInt(FANOUT),
      hashType: HASH_TYPE,
    })
    return storeNode(this.#staged, Buffer.concat([shard.marshal(), attributes]), links)
  }

  async #grouped(members: Iterable<number>, level: number): Promise<Array<[slot: number, members: number[]]>> {
    const slots = new Map<number, number[]>()
    for (const member of members) {
      if (turnSpent()) await nextTurn(this.#signal)
      const slot = this.#hashes[HASH_BYTES * member + level] ?? 0
      const own = slots.get(slot)
      if (own === undefined) slots.set(slot, [member])
      else own.push(member)
    }
    return [...slots].sort(([a], [b]) => a - b)
  }
}

/** Returns a bit field of the used slots, highest slot first, without leading zero bytes. */
function bitField(slots: readonly number[]): Uint8Array {
  const bits = Buffer.alloc(FANOUT / 8)
  for (const slot of slots) {
    const at = bits.length - 1 - (slot >> 3)
    bits[at] = (bits[at] ?? 0) | (1 << (slot & 7))
  }
  return bits.subarray(bits.findIndex(byte => byte !== 0))
}

function linkOf([name, { cid, tsize }]: [name: string, entry: StoredEntry]): NewLink {
  return { name: bytesOfText(name), cid: Buffer.from(cid, 'latin1'), tsize }
}

async function storeNode(staged: StagedDag, data: Uint8Array, links: readonly NewLink[]): Promise<StoredEntry> {
  const bytes = pbNodeBytes(data, links)
  const cid = CID.createV1(CODEC.dagPb, await staged.store.hash(bytes))
  await staged.put(cid, bytes)
  return { cid: compactCid(cid), tsize: links.reduce((sum, link) => sum + link.tsize, bytes.length) }
}
