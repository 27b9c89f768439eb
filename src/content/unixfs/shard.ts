import { murmur364 } from '@multiformats/murmur3'
import type { CID } from 'multiformats/cid'
import { bytesOfText } from '../../domain/byte-text.ts'
import { type DirectoryLink, malformedDagPb, type NodeLinks } from '../dag/dag-pb.ts'
import type { BlockReader } from './block-reader.ts'
import type { ShardNode } from './node.ts'

const HASH_BITS = 64

/** The buckets, level by level, that lead to a name in a sharded directory. */
class BucketPath {
  #hash: bigint
  #left = HASH_BITS

  constructor(name: Uint8Array) {
    this.#hash = Buffer.from(murmur364.encode(name) as Uint8Array).readBigUInt64BE()
  }

  /** Returns the bucket at the next level, or null if the hash has too few bits left. */
  next(fanout: number): number | null {
    const bits = Math.log2(fanout)
    if (this.#left < bits) return null
    this.#left -= bits
    return Number((this.#hash >> BigInt(this.#left)) & BigInt(fanout - 1))
  }
}

/** Finds the entry whose name has this text form. Reads one block per level. */
export async function findInShard(blocks: BlockReader, shard: ShardNode, name: string): Promise<CID | null> {
  const bytes = bytesOfText(name)
  const path = new BucketPath(bytes)
  for (let node = shard; ; ) {
    const bucket = path.next(node.fanout)
    if (bucket === null) return null
    const prefix = Buffer.from(prefixOf(bucket, node))
    const index = findPrefix(node.links, prefix)
    if (index === null) return null
    const found = node.links.nameBytes(index)
    const cid = node.links.cid(index)
    if (found.length !== prefix.length) return Buffer.compare(bytes, found.subarray(prefix.length)) === 0 ? cid : null
    node = await subshard(blocks, cid)
  }
}

function findPrefix(links: NodeLinks, prefix: Uint8Array): number | null {
  for (let index = 0; index < links.length; index++) {
    if (Buffer.compare(links.nameBytes(index).subarray(0, prefix.length), prefix) === 0) return index
  }
  return null
}

interface OpenShard {
  node: ShardNode
  width: number
  index: number
  /** The position after which the iteration starts. Null if the position is not in this shard. */
  start: { prefix: string; after: BucketPath } | null
  /** Number of hash bits that the levels down to this shard use. */
  bits: number
  bytes: number
}

/**
 * Yields the entries of a sharded directory in the order of their hashes.
 *
 * @param after name after whose position the iteration starts, without reading earlier entries; null to read all
 * @throws HoldfastError `INVALID_CID` if there are more levels of shards than a hash allows
 */
export async function* shardEntries(
  blocks: BlockReader,
  shard: ShardNode,
  after: string | null,
): AsyncGenerator<DirectoryLink, void, undefined> {
  const open = [openShard(shard, after === null ? null : new BucketPath(bytesOfText(after)), 0, 0)]
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (top.index === top.node.links.length) {
      blocks.budget.leave(top.bytes)
      open.pop()
      continue
    }
    const turn = blocks.budget.step()
    if (turn !== null) await turn
    const { links } = top.node
    const index = top.index++
    const stored = links.nameBytes(index)
    const prefix = Buffer.from(stored.subarray(0, top.width)).toString('latin1')
    if (top.start !== null && prefix < top.start.prefix) continue
    const isStart = prefix === top.start?.prefix
    if (stored.length !== top.width) {
      if (!isStart) yield links.at(index, top.width)
      continue
    }
    const cid = links.cid(index)
    const { node, block } = await blocks.load(cid)
    if (node.kind !== 'shard') throw malformedDagPb(cid, 'a shard links to something else')
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

/**
 * Returns the number of hexadecimal digits that precede a name in a shard. These digits are the index of the bucket.
 */
export function prefixLength({ fanout }: ShardNode): number {
  return (fanout - 1).toString(16).length
}

function prefixOf(bucket: number, shard: ShardNode): string {
  return bucket.toString(16).toUpperCase().padStart(prefixLength(shard), '0')
}
