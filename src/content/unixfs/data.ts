import { ProtobufReader } from '../dag/dag-pb.ts'

/** What the data of a DAG-PB node says of it as UnixFS. */
export interface Unixfs {
  type: 'file' | 'directory' | 'shard' | 'symlink' | 'other'
  data: Uint8Array | null
  /** Content bytes below each link of a file; one more than there are links stands for any more. */
  sizes: number[]
  fanout: number
}

/** By number; one without a type is a file. */
const TYPES = ['file', 'directory', 'file', 'other', 'symlink', 'shard'] as const
const NUMBERS = new Set([1, 3, 4, 5, 6, 7])

/**
 * Reads UnixFS data; null if it is none, since valid DAG-PB need not be UnixFS.
 *
 * @param links how many the node has; sizes beyond them are not kept
 */
export function readUnixfs(bytes: Uint8Array, links: number): Unixfs | null {
  const found: Unixfs = { type: 'file', data: null, sizes: [], fanout: 0 }
  try {
    const reader = new ProtobufReader(bytes, 0, bytes.length)
    while (reader.next()) {
      const { field, wire, value } = reader
      if (NUMBERS.has(field) ? wire !== 0 : field === 2 && wire !== 2) return null
      if (field === 1) {
        const type = TYPES[value]
        if (type === undefined) return null
        found.type = type
      } else if (field === 2) found.data = bytes.subarray(reader.start, reader.end)
      else if (field === 4 && found.sizes.length <= links) found.sizes.push(value)
      else if (field === 6) found.fanout = value
    }
  } catch {
    return null
  }
  return found
}
