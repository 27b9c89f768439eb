import { murmur364 } from '@multiformats/murmur3'
import type { CID } from 'multiformats/cid'
import type { BlockReader } from './request-blocks.ts'
import { type DirectoryLink, decodeNode, malformed, type ShardNode } from './unixfs-node.ts'

/** Where a name belongs in a sharded directory: the bucket to take at each depth. */
class BucketPath {
  #hash: bigint
  #left = 64

  constructor(name: string) {
    this.#hash = Buffer.from(murmur364.encode(Buffer.from(name)) as Uint8Array).readBigUInt64BE()
  }

  /** Null once the hash is used up. */
  next(fanout: number): number | null {
    const bits = Math.log2(fanout)
    if (this.#left < bits) return null
    this.#left -= bits
    return Number((this.#hash >> BigInt(this.#left)) & BigInt(fanout - 1))
  }
}

/** The entry of that name, reading one block a level. Null if there is none. */
export async function findInShard(blocks: BlockReader, shard: ShardNode, name: string): Promise<CID | null> {
  const path = new BucketPath(name)
  for (let node = shard; ; ) {
    const bucket = path.next(node.fanout)
    if (bucket === null) return null
    const prefix = prefixOf(bucket, node.fanout)
    const link = node.links.find(candidate => candidate.name.startsWith(prefix))
    if (link === undefined) return null
    if (link.name !== prefix) return link.name.slice(prefix.length) === name ? link.cid : null
    node = await subshard(blocks, link)
  }
}

/**
 * The entries in the order of the shards, which is that of their hashes.
 *
 * @param after begins behind where this name is or would be, without reading what comes before it
 */
export async function* shardEntries(
  blocks: BlockReader,
  shard: ShardNode,
  after: string | null,
): AsyncGenerator<DirectoryLink> {
  yield* entriesOf(blocks, shard, after === null ? null : { name: after, path: new BucketPath(after) })
}

async function* entriesOf(
  blocks: BlockReader,
  node: ShardNode,
  after: { name: string; path: BucketPath } | null,
): AsyncGenerator<DirectoryLink> {
  const width = prefixOf(0, node.fanout).length
  const bucket = after?.path.next(node.fanout) ?? null
  const start = bucket === null ? '' : prefixOf(bucket, node.fanout)
  for (const link of node.links) {
    const prefix = link.name.slice(0, width)
    if (prefix < start) continue
    const isStart = bucket !== null && prefix === start
    if (link.name.length === width) {
      yield* entriesOf(blocks, await subshard(blocks, link), isStart ? after : null)
    } else if (!isStart) {
      yield { ...link, name: link.name.slice(width) }
    }
  }
}

async function subshard(blocks: BlockReader, link: DirectoryLink): Promise<ShardNode> {
  const node = decodeNode(link.cid, await blocks.get(link.cid))
  if (node.kind !== 'shard') throw malformed(link.cid, 'a shard links to something else')
  return node
}

function prefixOf(bucket: number, fanout: number): string {
  return bucket
    .toString(16)
    .toUpperCase()
    .padStart((fanout - 1).toString(16).length, '0')
}
