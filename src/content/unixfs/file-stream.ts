import type { CID } from 'multiformats/cid'
import { PAGED_BYTES } from '../../concurrency/capacity/page-memory.ts'
import type { HoldfastError } from '../../domain/errors.ts'
import { CODEC } from '../../ipld/cid.ts'
import { malformedDagPb } from '../dag/dag-pb.ts'
import { giveAway, type Step, walkInOrder } from '../dag/ordered-walk.ts'
import type { BlockReader } from './block-reader.ts'
import type { FileNode, UnixfsNode } from './node.ts'
import type { Loaded } from './node-cache.ts'
import { type AnswerMeans, StreamedBlock } from './streamed-block.ts'

/** Range of bytes, without the byte at `end`. */
export interface ByteRange {
  start: number
  end: number
}

/** A part of a file: bytes of the node itself, or a range of the content below a link. */
export type Piece = { bytes: Uint8Array; cid: null } | LinkedPart

export interface LinkedPart {
  cid: CID
  /** Size in bytes of the content below the link, as the parent claims it. */
  size: number
  range: ByteRange
}

/**
 * Streams the bytes of a file in `range`. Reads only blocks that contain a part of the range. The stream ends with an
 * error if a block is missing or damaged, or if its size differs from the size that its parent claims.
 */
export function streamFile(
  blocks: BlockReader,
  file: FileNode,
  range: ByteRange,
): AsyncGenerator<Uint8Array, void, undefined> {
  return walkInOrder<Piece, Loaded | Uint8Array | StreamedBlock>(blocks, piecesOf(file, range), {
    read: piece =>
      piece.cid === null ? null : piece.cid.code === CODEC.raw ? readRaw(blocks, piece) : blocks.load(piece.cid),
    visit(piece, read): Step<Piece> {
      if (piece.cid === null || read === null) return { output: 'bytes' in piece ? [piece.bytes] : [] }
      if (read instanceof StreamedBlock) {
        if (read.length !== piece.size) {
          read.drop()
          throw notThePart(piece)
        }
        return { output: read.pieces(piece.range.start, piece.range.end) }
      }
      if (read instanceof Uint8Array) {
        if (read.length !== piece.size) throw notThePart(piece)
        return { output: [giveAway(read).subarray(piece.range.start, piece.range.end)] }
      }
      return { next: piecesOf(partOf(piece, read.node), piece.range), bytes: read.block.length }
    },
    drop: read => {
      if (read instanceof StreamedBlock) read.drop()
    },
  })
}

/**
 * Returns a function that streams ranges of a file, one after the other. A large file of one block counts against the
 * memory budget, and does not stay in memory while its client reads nothing.
 */
export function rangesOf(
  blocks: BlockReader,
  file: FileNode,
): (range: ByteRange) => AsyncGenerator<Uint8Array, void, undefined> {
  const { means } = blocks
  if (means === undefined || file.links.length > 0 || file.size < PAGED_BYTES) {
    return range => streamFile(blocks, file, range)
  }
  return rangesOfBlock(blocks, means, file.cid, file.inline)
}

/** Returns a function that streams ranges of a block. The streams keep no reference to its bytes, which frees them. */
function rangesOfBlock(blocks: BlockReader, means: AnswerMeans, cid: CID, bytes: Uint8Array) {
  const size = bytes.length
  let loaded: Uint8Array | null = bytes
  const source = cid.code === CODEC.dagPb ? new CachedBytes(blocks, size) : blocks
  const open = (): Promise<StreamedBlock> => {
    const first = loaded
    loaded = null
    if (first === null) return StreamedBlock.read(source, means, cid, size)
    return StreamedBlock.resume(source, means, cid, first)
  }
  return async function* ({ start, end }: ByteRange) {
    const block = await open()
    yield* block.pieces(start, end)
  }
}

/** The bytes of a dag-pb block, or of the file in it. Its node is cached. */
class CachedBytes {
  readonly isShared = true
  readonly #blocks: BlockReader
  readonly #size: number

  constructor(blocks: BlockReader, size: number) {
    this.#blocks = blocks
    this.#size = size
  }

  async get(cid: CID): Promise<Uint8Array> {
    const { block, node } = await this.#blocks.load(cid)
    // The file in a block is always shorter than the block.
    if (block.length === this.#size) return block
    if (node.kind !== 'file') throw malformedDagPb(cid, 'it is no longer a file')
    return node.inline
  }
}

function readRaw(blocks: BlockReader, { cid, size }: LinkedPart): Promise<Uint8Array | StreamedBlock> {
  return blocks.means === undefined ? blocks.get(cid) : StreamedBlock.read(blocks, blocks.means, cid, size)
}

/** @throws HoldfastError `INVALID_CID` if the node is not the part that its parent claims */
export function partOf(part: LinkedPart, node: UnixfsNode): FileNode {
  if (node.kind !== 'file' || node.size !== part.size) throw notThePart(part)
  return node
}

function notThePart({ cid }: LinkedPart): HoldfastError {
  return malformedDagPb(cid, 'it is not what its parent claims')
}

/** Yields the non-empty parts of a node in `range`: first its own bytes, then its children. */
export function* piecesOf(file: FileNode, range: ByteRange): Generator<Piece, void, undefined> {
  const inline = file.inline.subarray(range.start, range.end)
  if (inline.length > 0) yield { bytes: inline, cid: null }
  let offset = file.inline.length
  for (const [index, size] of file.sizes.entries()) {
    if (offset >= range.end) return
    const start = Math.max(range.start - offset, 0)
    const end = Math.min(range.end - offset, size)
    if (start < end) yield { cid: file.links.cid(index), size, range: { start, end } }
    offset += size
  }
}
