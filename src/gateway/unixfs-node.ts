import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import type { CID } from 'multiformats/cid'
import { CODEC } from '../domain/cid.ts'
import { HoldfastError } from '../domain/errors.ts'

/** A link of a file: `size` content bytes of it are below `cid`. */
export interface FileChild {
  cid: CID
  size: number
}

export interface DirectoryLink {
  /** As stored: in a shard it begins with the bucket's number in hexadecimal. */
  name: string
  cid: CID
  /** Bytes of the DAG below, as the link claims. */
  dagSize: number
}

export interface FileNode {
  kind: 'file'
  cid: CID
  /** Content bytes: those inside this node, then those of its children in order. */
  size: number
  inline: Uint8Array
  children: readonly FileChild[]
}

export interface ShardNode {
  kind: 'shard'
  cid: CID
  fanout: number
  links: readonly DirectoryLink[]
}

/** A block as UnixFS sees it; `opaque` is what belongs to another data model. */
export type UnixfsNode =
  | FileNode
  | { kind: 'directory'; cid: CID; links: readonly DirectoryLink[] }
  | ShardNode
  | { kind: 'symlink'; cid: CID; target: string }
  | { kind: 'opaque'; cid: CID; bytes: Uint8Array }

const NOTHING = new Uint8Array()
const LARGEST_FANOUT = 1024

/**
 * Reads a block whose hash is known to be right.
 *
 * @throws HoldfastError `INVALID_CID` if it claims to be UnixFS and its parts do not fit together.
 */
export function decodeNode(cid: CID, bytes: Uint8Array): UnixfsNode {
  if (cid.code === CODEC.raw) return { kind: 'file', cid, size: bytes.length, inline: bytes, children: [] }
  if (cid.code !== CODEC.dagPb) return { kind: 'opaque', cid, bytes }
  const { node, unixfs } = parse(cid, bytes)
  switch (unixfs?.type) {
    case 'file':
    case 'raw':
      return fileOf(cid, node, unixfs)
    case 'directory':
      return { kind: 'directory', cid, links: linksOf(node) }
    case 'hamt-sharded-directory':
      return { kind: 'shard', cid, fanout: fanoutOf(cid, unixfs), links: linksOf(node) }
    case 'symlink':
      return { kind: 'symlink', cid, target: new TextDecoder().decode(unixfs.data) }
    default:
      return { kind: 'opaque', cid, bytes }
  }
}

/** What is said of a DAG that hashes right and yet makes no sense. */
export function malformed(cid: CID, reason: string): HoldfastError {
  return new HoldfastError('INVALID_CID', `${cid} is not well-formed: ${reason}`)
}

function parse(cid: CID, bytes: Uint8Array): { node: dagPb.PBNode; unixfs: UnixFS | null } {
  let node: dagPb.PBNode
  try {
    node = dagPb.decode(bytes)
  } catch {
    throw malformed(cid, 'it is not dag-pb')
  }
  if (node.Data === undefined) return { node, unixfs: null }
  try {
    return { node, unixfs: UnixFS.unmarshal(node.Data) }
  } catch {
    // Valid dag-pb need not be UnixFS.
    return { node, unixfs: null }
  }
}

function fileOf(cid: CID, node: dagPb.PBNode, unixfs: UnixFS): FileNode {
  const inline = unixfs.data ?? NOTHING
  if (unixfs.blockSizes.length !== node.Links.length) throw malformed(cid, 'its sizes do not match its links')
  const children = node.Links.map((link, index) => ({ cid: link.Hash, size: Number(unixfs.blockSizes[index]) }))
  const size = children.reduce((sum, child) => sum + child.size, inline.length)
  if (!Number.isSafeInteger(size)) throw malformed(cid, 'its size is out of bounds')
  return { kind: 'file', cid, size, inline, children }
}

function linksOf(node: dagPb.PBNode): DirectoryLink[] {
  return node.Links.map(link => ({ name: link.Name ?? '', cid: link.Hash, dagSize: link.Tsize ?? 0 }))
}

function fanoutOf(cid: CID, unixfs: UnixFS): number {
  const fanout = Number(unixfs.fanout ?? 0)
  if (fanout < 8 || fanout > LARGEST_FANOUT || !Number.isInteger(Math.log2(fanout))) {
    throw malformed(cid, 'its fanout is out of bounds')
  }
  return fanout
}
