import type { CID } from 'multiformats/cid'
import type { HoldfastError } from '../../domain/errors.ts'
import { CODEC } from '../../ipld/cid.ts'
import { malformedDagPb } from '../dag/dag-pb.ts'
import { giveAway, type Step, walkInOrder } from '../dag/ordered-walk.ts'
import type { BlockReader } from './block-reader.ts'
import type { FileNode, UnixfsNode } from './node.ts'
import type { Loaded } from './node-cache.ts'
import { StreamedBlock } from './streamed-block.ts'

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
