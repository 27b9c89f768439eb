import type { CID } from 'multiformats/cid'
import { textOfBytes } from '../../domain/byte-text.ts'
import { CODEC } from '../../ipld/cid.ts'
import { ProtobufReader } from '../../ipld/protobuf.ts'
import { malformedDagPb, NodeLinks, parsePbNode } from '../dag/dag-pb.ts'
import { type Attributes, modeOf, mtimeOf } from './attributes.ts'

export interface FileNode extends Attributes {
  kind: 'file'
  cid: CID
  /** Size in bytes of the content: `inline`, then the content of the children in order. */
  size: number
  inline: Uint8Array
  /** Links to the children, and the size in bytes of the content below each link. */
  links: NodeLinks
  sizes: readonly number[]
}

export interface ShardNode extends Attributes {
  kind: 'shard'
  cid: CID
  fanout: number
  links: NodeLinks
}

/** A decoded UnixFS block. `opaque` stands for a block of another data model. */
export type UnixfsNode =
  | FileNode
  | (Attributes & { kind: 'directory'; cid: CID; links: NodeLinks })
  | ShardNode
  /** The target is a text form. */
  | (Attributes & { kind: 'symlink'; cid: CID; target: string })
  | { kind: 'opaque'; cid: CID; bytes: Uint8Array }

const NOTHING = new Uint8Array()
const LARGEST_FANOUT = 1024

/**
 * Decodes a block whose hash has been checked.
 *
 * @throws HoldfastError `INVALID_CID` if the block is UnixFS but its parts do not match
 */
export function decodeNode(cid: CID, bytes: Uint8Array): UnixfsNode {
  if (cid.code === CODEC.raw) return fileInOneBlock(cid, bytes)
  if (cid.code !== CODEC.dagPb) return { kind: 'opaque', cid, bytes }
  const node = parsePbNode(cid, bytes)
  const unixfs = node.data === null ? null : readUnixfs(node.data, node.links.length)
  const links = new NodeLinks(cid, node.links)
  switch (unixfs?.type) {
    case 'file':
      return fileOf(cid, links, unixfs)
    case 'directory':
      return { kind: 'directory', cid, links, ...unixfs.attributes }
    case 'shard':
      return { kind: 'shard', cid, fanout: fanoutOf(cid, unixfs), links, ...unixfs.attributes }
    case 'symlink':
      return { kind: 'symlink', cid, target: textOfBytes(unixfs.data ?? NOTHING), ...unixfs.attributes }
    default:
      return { kind: 'opaque', cid, bytes }
  }
}

export function fileInOneBlock(cid: CID, bytes: Uint8Array): FileNode {
  return { kind: 'file', cid, size: bytes.length, inline: bytes, links: new NodeLinks(cid, null), sizes: [] }
}

function fileOf(cid: CID, links: NodeLinks, { data, sizes, attributes }: Unixfs): FileNode {
  const inline = data ?? NOTHING
  if (sizes.length !== links.length) throw malformedDagPb(cid, 'its sizes do not match its links')
  let size = inline.length
  for (const below of sizes) size += below
  if (!Number.isSafeInteger(size)) throw malformedDagPb(cid, 'its size is out of bounds')
  return { kind: 'file', cid, size, inline, links, sizes, ...attributes }
}

function fanoutOf(cid: CID, { fanout }: Unixfs): number {
  if (fanout < 8 || fanout > LARGEST_FANOUT || !Number.isInteger(Math.log2(fanout))) {
    throw malformedDagPb(cid, 'its fanout is out of bounds')
  }
  return fanout
}

interface Unixfs {
  type: 'file' | 'directory' | 'shard' | 'symlink' | 'other'
  data: Uint8Array | null
  /**
   * Size in bytes of the content below each link of a file. If there are more sizes than links, only one more is
   * stored.
   */
  sizes: number[]
  fanout: number
  attributes: Attributes
}

/** Types by number. Data without a type field counts as a file. */
const TYPES = ['file', 'directory', 'file', 'other', 'symlink', 'shard'] as const
const NUMBERS = new Set([1, 3, 4, 5, 6, 7])

/**
 * Decodes UnixFS data. Returns null if the data is not UnixFS, because a valid DAG-PB node can contain any data.
 *
 * @param links number of links of the node
 */
export function readUnixfs(bytes: Uint8Array, links: number): Unixfs | null {
  const found: Unixfs = { type: 'file', data: null, sizes: [], fanout: 0, attributes: {} }
  try {
    const reader = new ProtobufReader(bytes)
    while (reader.next()) {
      const { field, wire, value } = reader
      if (NUMBERS.has(field) ? wire !== 0 : field === 2 && wire !== 2) return null
      if (field === 1) {
        const type = TYPES[value]
        if (type === undefined) return null
        found.type = type
      } else if (field === 2) found.data = reader.bytes()
      else if (field === 4 && found.sizes.length <= links) found.sizes.push(value)
      else if (field === 6) found.fanout = value
      else if (field === 7) Object.assign(found.attributes, modeOf(value))
      else if (field === 8 && wire === 2) Object.assign(found.attributes, mtimeOf(reader.message()))
    }
  } catch {
    return null
  }
  return found
}
