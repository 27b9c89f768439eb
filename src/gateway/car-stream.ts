import * as dagCbor from '@ipld/dag-cbor'
import { varint } from 'multiformats'
import type { CID } from 'multiformats/cid'
import { linksOf } from '../content/dag-walk.ts'
import { CODEC, HASH } from '../domain/cid.ts'
import type { ByteRange } from './byte-range.ts'
import { openPart, piecesOf } from './file-stream.ts'
import { type Step, walkInOrder } from './ordered-walk.ts'
import { giveAway } from './owned-memory.ts'
import type { BlockReader } from './request-blocks.ts'
import { decodeNode, type FileNode, type ShardNode, type UnixfsNode } from './unixfs-node.ts'

/** How much of what is below the end of a path goes into a CAR. */
export type DagScope = 'block' | 'entity' | 'all'

export interface CarRequest {
  /** The blocks that the path needed; the last is the root of what is asked for. */
  trail: readonly CID[]
  scope: DagScope
  /** With scope `entity`, of a file: only the blocks that these bytes need. Null for all. */
  range: ByteRange | null
  /** Whether a block is sent every time that the walk meets it. */
  duplicates: boolean
}

/** A block to send, and what to go on with below it. */
interface Item {
  cid: CID
  /** Whether {@link follow} leads to all that this CAR can need below the block. */
  whole: boolean
  follow: (block: Uint8Array) => readonly Item[]
}

/** Blocks up to this size are sent together with their frame. */
const SMALL_BLOCK_BYTES = 64 * 1024

/**
 * A CAR, version 1: first the blocks of the path, then those below its end, depth first. Bytes of a CID that has them
 * in itself are not sent again.
 */
export async function* streamCar(
  blocks: BlockReader,
  { trail, scope, range, duplicates }: CarRequest,
): AsyncGenerator<Uint8Array, void, undefined> {
  const root = trail.at(-1)
  yield headerOf(root === undefined ? [] : [root])
  const below = scope === 'all' ? followAll : scope === 'entity' ? followEntity(range) : () => []
  const path = trail.map((cid, index): Item => {
    if (index < trail.length - 1) return { cid, whole: false, follow: () => [] }
    return { cid, whole: true, follow: block => below(cid, block) }
  })
  // Blocks that have been sent, and whether what is below them has been as well.
  const sent = new Map<string, boolean>()
  const isDone = ({ cid }: Item): boolean => !duplicates && sent.get(keyOf(cid)) === true
  yield* walkInOrder<Item>(blocks, path, {
    blockOf: item => (item.cid.multihash.code === HASH.identity || isDone(item) ? null : item.cid),
    visit(item, block): Step<Item> {
      if (item.cid.multihash.code === HASH.identity) return { output: [], next: item.follow(item.cid.multihash.digest) }
      if (block === null || isDone(item)) return { output: [], next: [] }
      const isNew = duplicates || !sent.has(keyOf(item.cid))
      if (!duplicates) sent.set(keyOf(item.cid), item.whole)
      return { output: isNew ? frameOf(item.cid, block) : [], next: item.follow(block) }
    },
  })
}

function followAll(cid: CID, block: Uint8Array): Item[] {
  return linksOf(cid, block).map(link => ({ cid: link, whole: true, follow: inner => followAll(link, inner) }))
}

/** What it takes to read a file, all or in a range, or to list a directory. */
function followEntity(range: ByteRange | null): (cid: CID, block: Uint8Array) => readonly Item[] {
  return (cid, block) => entityOf(decodeNode(cid, block), range)
}

function entityOf(node: UnixfsNode, range: ByteRange | null): readonly Item[] {
  if (node.kind === 'file') return fileItems(node, range ?? { start: 0, end: node.size })
  if (node.kind === 'shard') return shardItems(node)
  return []
}

function fileItems(file: FileNode, range: ByteRange): Item[] {
  return piecesOf(file, range).flatMap((piece): Item[] => {
    if (piece.cid === null) return []
    const { cid, size } = piece
    const whole = cid.code === CODEC.raw || (piece.range.start === 0 && piece.range.end === size)
    return [{ cid, whole, follow: block => fileItems(openPart(piece, block), piece.range) }]
  })
}

function shardItems(shard: ShardNode): Item[] {
  const width = (shard.fanout - 1).toString(16).length
  return shard.links
    .filter(link => link.name.length === width)
    .map(({ cid }) => ({ cid, whole: true, follow: block => entityOf(decodeNode(cid, block), null) }))
}

function headerOf(roots: readonly CID[]): Uint8Array {
  const header = dagCbor.encode({ version: 1, roots: [...roots] })
  return Buffer.concat([varintOf(header.length), header])
}

function frameOf(cid: CID, block: Uint8Array): Uint8Array[] {
  const head = Buffer.concat([varintOf(cid.bytes.length + block.length), cid.bytes])
  if (block.length <= SMALL_BLOCK_BYTES) return [Buffer.concat([head, block])]
  // The links of other blocks refer to their memory for as long as they are being followed.
  return [head, cid.code === CODEC.raw ? giveAway(block) : block]
}

function varintOf(value: number): Uint8Array {
  return varint.encodeTo(value, new Uint8Array(varint.encodingLength(value)))
}

function keyOf(cid: CID): string {
  return Buffer.from(cid.bytes).toString('latin1')
}
