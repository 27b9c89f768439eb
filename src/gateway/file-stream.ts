import type { CID } from 'multiformats/cid'
import { CODEC } from '../domain/cid.ts'
import type { ByteRange } from './byte-range.ts'
import { decodeNode, type FileNode, malformed } from './unixfs-node.ts'

/** How many blocks a fast reader gets read ahead; one that is slow gets a single one. */
const MOST_AHEAD = 4

/** A stretch of a file, in the order of the file: bytes at hand, or part of the block below a link. */
type Piece = { bytes: Uint8Array } | BlockPiece

interface BlockPiece {
  cid: CID
  /** Content bytes that its parent claims below it. */
  size: number
  /** What of those is wanted. */
  range: ByteRange
  /** The block on its way, once it is. */
  load?: Load
}

interface Load {
  bytes: Promise<Uint8Array>
  arrived: boolean
}

/**
 * The bytes of a file in `range`, block by block and strictly in order. Only blocks that the range touches are read,
 * a few ahead of a reader that keeps up. A block that is missing, damaged or of another size than its parent says
 * ends the stream with an error: what has come out is always right.
 *
 * @param get reads a block and checks its hash
 */
export async function* streamFile(
  get: (cid: CID) => Promise<Uint8Array>,
  file: FileNode,
  range: ByteRange,
): AsyncGenerator<Uint8Array, void, undefined> {
  // The next piece is the last: a node is taken off and its own pieces are put in its place.
  const pieces = piecesOf(file, range).reverse()
  let ahead = 1
  for (let piece = pieces.pop(); piece !== undefined; piece = pieces.pop()) {
    if ('bytes' in piece) {
      yield piece.bytes
      continue
    }
    const load = start(piece, get)
    // A reader that always finds the next block waiting is the slower one and needs no more of them.
    ahead = load.arrived ? Math.max(1, ahead - 1) : Math.min(MOST_AHEAD, ahead + 1)
    for (const next of pieces.slice(-ahead)) if ('cid' in next) start(next, get)
    const node = decodeNode(piece.cid, await load.bytes)
    if (node.kind !== 'file' || node.size !== piece.size) throw malformed(file.cid, `${piece.cid} is not what it links`)
    if (piece.cid.code === CODEC.raw) yield node.inline.subarray(piece.range.start, piece.range.end)
    else pieces.push(...piecesOf(node, piece.range).reverse())
  }
}

function start(piece: BlockPiece, get: (cid: CID) => Promise<Uint8Array>): Load {
  if (piece.load !== undefined) return piece.load
  const load: Load = { bytes: get(piece.cid), arrived: false }
  load.bytes.then(
    () => {
      load.arrived = true
    },
    // Whoever takes the piece sees the error; a stream that was ended early leaves nobody to see it.
    () => undefined,
  )
  piece.load = load
  return load
}

/** What `range` needs of a node's own bytes and of its children. Those of no size are left out. */
function piecesOf(file: FileNode, range: ByteRange): Piece[] {
  const pieces: Piece[] = []
  const inline = file.inline.subarray(range.start, range.end)
  if (inline.length > 0) pieces.push({ bytes: inline })
  let offset = file.inline.length
  for (const { cid, size } of file.children) {
    const start = Math.max(range.start - offset, 0)
    const end = Math.min(range.end - offset, size)
    if (start < end) pieces.push({ cid, size, range: { start, end } })
    offset += size
  }
  return pieces
}
