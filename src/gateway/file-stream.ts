import type { CID } from 'multiformats/cid'
import { CODEC } from '../domain/cid.ts'
import type { ByteRange } from './byte-range.ts'
import { type Step, walkInOrder } from './ordered-walk.ts'
import { giveAway } from './owned-memory.ts'
import type { BlockReader } from './request-blocks.ts'
import { decodeNode, type FileNode, malformed } from './unixfs-node.ts'

/** A stretch of a file: bytes at hand, or part of what is below a link. */
export type Piece = { bytes: Uint8Array; cid: null } | FilePart

export interface FilePart {
  cid: CID
  /** Content bytes that its parent claims below it. */
  size: number
  /** What of those is wanted. */
  range: ByteRange
}

/**
 * The bytes of a file in `range`. Only blocks that the range touches are read. A block that is missing, damaged or of
 * another size than its parent says ends the stream with an error.
 */
export function streamFile(
  blocks: BlockReader,
  file: FileNode,
  range: ByteRange,
): AsyncGenerator<Uint8Array, void, undefined> {
  return walkInOrder<Piece>(blocks, piecesOf(file, range), {
    blockOf: piece => piece.cid,
    visit(piece, block): Step<Piece> {
      if (piece.cid === null || block === null) return { output: 'bytes' in piece ? [piece.bytes] : [], next: [] }
      const part = openPart(piece, block)
      if (piece.cid.code !== CODEC.raw) return { output: [], next: piecesOf(part, piece.range) }
      return { output: [giveAway(block).subarray(piece.range.start, piece.range.end)], next: [] }
    },
  })
}

/** @throws HoldfastError `INVALID_CID` if the block is not the part of a file that its parent links. */
export function openPart(part: FilePart, block: Uint8Array): FileNode {
  const node = decodeNode(part.cid, block)
  if (node.kind !== 'file' || node.size !== part.size) throw malformed(part.cid, 'it is not what links to it say')
  return node
}

/** What `range` needs of a node's own bytes and of its children. Those of no size are left out. */
export function piecesOf(file: FileNode, range: ByteRange): Piece[] {
  const pieces: Piece[] = []
  const inline = file.inline.subarray(range.start, range.end)
  if (inline.length > 0) pieces.push({ bytes: inline, cid: null })
  let offset = file.inline.length
  for (const { cid, size } of file.children) {
    const start = Math.max(range.start - offset, 0)
    const end = Math.min(range.end - offset, size)
    if (start < end) pieces.push({ cid, size, range: { start, end } })
    offset += size
  }
  return pieces
}
