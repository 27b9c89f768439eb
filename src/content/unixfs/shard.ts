import { murmur364 } from '@multiformats/murmur3'
import type { CID } from 'multiformats/cid'
import { type DirectoryLink, malformedDagPb, type NodeLinks } from '../dag/dag-pb.ts'
import type { BlockReader } from './block-reader.ts'
import type { ShardNode } from './node.ts'

/** Bits in the hash of a name. */
const HASH_BITS = 64

/** The path of a name in a sharded directory: the bucket at each level. */
class BucketPath {
  #hash: bigint
  #left = HASH_BITS

  constructor(name: string) {
    this.#hash = Buffer.from(murmur364.encode(Buffer.from(name)) as Uint8Array).readBigUInt64BE()
  }

  /** Returns the next bucket; null after the last bit of the hash. */
  next(fanout: number): number | null {
    const bits = Math.log2(fanout)
    if (this.#left < bits) return null
    this.#left -= bits
    return Number((this.#hash >> BigInt(this.#left)) & BigInt(fanout - 1))
  }
}

/** Finds the entry of a name; reads one block a level. Returns null if there is none. */
export async function findInShard(blocks: BlockReader, shard: ShardNode, name: string): Promise<CID | null> {
  const path = new BucketPath(name)
  const bytes = Buffer.from(name)
  for (let node = shard; ; ) {
    const bucket = path.next(node.fanout)
    if (bucket === null) return null
    const prefix = Buffer.from(prefixOf(bucket, node))
    const index = findPrefix(node.links, prefix)
    if (index === null) return null
    const found = node.links.nameBytes(index)
    const cid = node.links.cid(index)
    if (found.length !== prefix.length) return bytes.equals(found.subarray(prefix.length)) ? cid : null
    node = await subshard(blocks, cid)
  }
}

function findPrefix(links: NodeLinks, prefix: Uint8Array): number | null {
  for (let index = 0; index < links.length; index++) {
    if (Buffer.compare(links.nameBytes(index).subarray(0, prefix.length), prefix) === 0) return index
  }
  return null
}

/** A shard whose entries are being read. */
interface OpenShard {
  node: ShardNode
  width: number
  /** Index of the next link. */
  index: number
  /** Position of the start, if it is within this shard. */
  start: { prefix: string; after: BucketPath } | null
  /** Bits of the hash used down to this shard. */
  bits: number
  bytes: number
}

/**
 * Yields the entries in the order of the shards, which is that of their hashes.
 *
 * @param after starts after the position of this name, without reading entries before it
 * @throws HoldfastError `INVALID_CID` if shards are deeper than a hash allows
 */
export async function* shardEntries(
  blocks: BlockReader,
  shard: ShardNode,
  after: string | null,
): AsyncGenerator<DirectoryLink, void, undefined> {
  const open = [openShard(shard, after === null ? null : new BucketPath(after), 0, 0)]
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (top.index === top.node.links.length) {
      blocks.budget.leave(top.bytes)
      open.pop()
      continue
    }
    const turn = blocks.budget.step()
    if (turn !== null) await turn
    const link = top.node.links.at(top.index++)
    const prefix = link.name.slice(0, top.width)
    if (top.start !== null && prefix < top.start.prefix) continue
    const isStart = prefix === top.start?.prefix
    if (link.name.length !== top.width) {
      if (!isStart) yield { ...link, name: link.name.slice(top.width) }
      continue
    }
    const { node, block } = await blocks.load(link.cid)
    if (node.kind !== 'shard') throw malformedDagPb(link.cid, 'a shard links to something else')
    const below = openShard(node, isStart ? (top.start?.after ?? null) : null, top.bits, block.length)
    blocks.budget.enter(below.bytes)
    open.push(below)
  }
}

function openShard(node: ShardNode, after: BucketPath | null, above: number, bytes: number): OpenShard {
  const bits = above + Math.log2(node.fanout)
  if (bits > HASH_BITS) throw malformedDagPb(node.cid, 'its shards are deeper than any hash allows')
  const bucket = after?.next(node.fanout) ?? null
  const start = after === null || bucket === null ? null : { prefix: prefixOf(bucket, node), after }
  return { node, width: prefixLength(node), index: 0, start, bits, bytes }
}

async function subshard(blocks: BlockReader, cid: CID): Promise<ShardNode> {
  const { node } = await blocks.load(cid)
  if (node.kind !== 'shard') throw malformedDagPb(cid, 'a shard links to something else')
  return node
}

/** Returns the length of the bucket number, in hexadecimal, before a name in a shard. */
export function prefixLength({ fanout }: ShardNode): number {
  return (fanout - 1).toString(16).length
}

function prefixOf(bucket: number, shard: ShardNode): string {
  return bucket.toString(16).toUpperCase().padStart(prefixLength(shard), '0')
}
