import type { CID } from 'multiformats/cid'
import { carBlockHead, carHeader } from '../../content/car/writer.ts'
import { linksOf } from '../../content/dag/links.ts'
import { type Step, walkInOrder } from '../../content/dag/ordered-walk.ts'
import { SentBlocks } from '../../content/dag/sent-blocks.ts'
import type { BlockReader } from '../../content/unixfs/block-reader.ts'
import { type ByteRange, partOf, piecesOf } from '../../content/unixfs/file-stream.ts'
import { decodeNode, type FileNode, type ShardNode, type UnixfsNode } from '../../content/unixfs/node.ts'
import { prefixLength } from '../../content/unixfs/shard.ts'
import { StreamedBlock } from '../../content/unixfs/streamed-block.ts'
import { CODEC, HASH } from '../../ipld/cid.ts'

export type DagScope = 'block' | 'entity' | 'all'

export interface CarRequest {
  /** CIDs of the blocks along the path. The last CID is the root of the requested DAG. */
  trail: readonly CID[]
  scope: DagScope
  /** For scope `entity`: the byte range of the file whose blocks the CAR contains. Null for the whole file. */
  range: ByteRange | null
  /** True to send a block each time the DAG links to it, false to send each block once. */
  duplicates: boolean
}

interface Item {
  cid: CID
  /** False if {@link follow} yields only the blocks of a byte range. */
  whole: boolean
  follow: (block: Uint8Array) => Iterable<Item>
}

/** Up to this size, a block is copied into one chunk with its frame header. */
const SMALL_BLOCK_BYTES = 64 * 1024

/**
 * Streams a CAR, version 1: the blocks along the path, then the DAG depth first. Omits identity CIDs, which contain
 * their data.
 *
 * @throws HoldfastError `UNAVAILABLE` if blocks must not repeat and the set of sent blocks exceeds its memory limit
 */
export async function* streamCar(
  blocks: BlockReader,
  { trail, scope, range, duplicates }: CarRequest,
): AsyncGenerator<Uint8Array, void, undefined> {
  const root = trail.at(-1)
  const below = scope === 'all' ? followAll : scope === 'entity' ? followEntity(range) : () => []
  const path = trail.map((cid, index): Item => {
    if (index < trail.length - 1) return { cid, whole: false, follow: () => [] }
    return { cid, whole: true, follow: block => below(cid, block) }
  })
  const sent = duplicates ? null : new SentBlocks()
  const isDone = ({ cid }: Item): boolean => sent?.has(cid) === 'whole'
  try {
    yield carHeader(root === undefined ? [] : [root])
    yield* walkInOrder<Item, Uint8Array | StreamedBlock>(blocks, path, {
      read: item => (item.cid.multihash.code === HASH.identity || isDone(item) ? null : readFor(blocks, item.cid)),
      visit(item, block): Step<Item> {
        if (item.cid.multihash.code === HASH.identity) return { next: item.follow(item.cid.multihash.digest) }
        if (block === null) return {}
        if (isDone(item)) {
          if (block instanceof StreamedBlock) block.drop()
          return {}
        }
        const isNew = sent === null || sent.has(item.cid) === null
        sent?.add(item.cid, item.whole)
        if (block instanceof StreamedBlock) return { output: streamFrame(item.cid, block) }
        const output = isNew ? frameOf(item.cid, block) : []
        return item.cid.code === CODEC.raw ? { output } : { output, next: item.follow(block), bytes: block.length }
      },
      drop: block => {
        if (block instanceof StreamedBlock) block.drop()
      },
    })
  } finally {
    sent?.release()
  }
}

function* followAll(cid: CID, block: Uint8Array): Generator<Item, void, undefined> {
  for (const link of linksOf(cid, block)) yield { cid: link, whole: true, follow: inner => followAll(link, inner) }
}

/** Returns a function that yields only the blocks needed to read a file or range, or to list a directory. */
function followEntity(range: ByteRange | null): (cid: CID, block: Uint8Array) => Iterable<Item> {
  return (cid, block) => entityOf(decodeNode(cid, block), range)
}

function entityOf(node: UnixfsNode, range: ByteRange | null): Iterable<Item> {
  if (node.kind === 'file') return fileItems(node, range ?? { start: 0, end: node.size })
  if (node.kind === 'shard') return shardItems(node)
  return []
}

function* fileItems(file: FileNode, range: ByteRange): Generator<Item, void, undefined> {
  for (const piece of piecesOf(file, range)) {
    if (piece.cid === null) continue
    const { cid, size } = piece
    const whole = cid.code === CODEC.raw || (piece.range.start === 0 && piece.range.end === size)
    yield { cid, whole, follow: block => fileItems(partOf(piece, decodeNode(cid, block)), piece.range) }
  }
}

function* shardItems(shard: ShardNode): Generator<Item, void, undefined> {
  const { links } = shard
  const width = prefixLength(shard)
  for (let index = 0; index < links.length; index++) {
    if (links.nameBytes(index).length !== width) continue
    const cid = links.cid(index)
    yield { cid, whole: true, follow: block => entityOf(decodeNode(cid, block), null) }
  }
}

/** Reads a block. A large one without links counts against the memory for answers until it is sent. */
function readFor(blocks: BlockReader, cid: CID): Promise<Uint8Array | StreamedBlock> {
  const size = cid.code === CODEC.raw ? (blocks.sizeOf?.(cid) ?? 0) : 0
  if (blocks.means === undefined || size <= SMALL_BLOCK_BYTES) return blocks.get(cid)
  return StreamedBlock.read(blocks, blocks.means, cid, size)
}

async function* streamFrame(cid: CID, block: StreamedBlock): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield carBlockHead(cid, block.length)
    yield* block.pieces(0, block.length)
  } finally {
    block.drop()
  }
}

function frameOf(cid: CID, block: Uint8Array): Uint8Array[] {
  const head = carBlockHead(cid, block.length)
  return block.length <= SMALL_BLOCK_BYTES ? [Buffer.concat([head, block])] : [head, block]
}
