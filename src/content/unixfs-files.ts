import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import { exporter, type ReadableStorage } from 'ipfs-unixfs-exporter'
import { LRUCache } from 'lru-cache'
import type { CID } from 'multiformats/cid'
import { CODEC, dagKey } from '../domain/cid.ts'
import { isHoldfastError } from '../domain/errors.ts'

/** Nodes whose kind is remembered while a directory is listed. */
const KNOWN_NODES = 10_000

/** A file somewhere below a UnixFS directory. */
export interface UnixfsFile {
  path: string
  cid: CID
  /** Content bytes. */
  size: number
}

/** What a root is, as UnixFS sees it. */
export type UnixfsKind = 'file' | 'directory' | 'other'

export function blockstoreOf(get: (cid: CID) => Promise<Uint8Array>): ReadableStorage {
  return {
    get: async function* (cid: CID) {
      yield await get(cid)
    },
  } as ReadableStorage
}

/** Tells from a block what it is the root of, without reading others. */
export function kindOf(cid: CID, bytes: Uint8Array): { kind: UnixfsKind; size: number } {
  if (cid.code === CODEC.raw) return { kind: 'file', size: bytes.length }
  if (cid.code !== CODEC.dagPb) return { kind: 'other', size: bytes.length }
  try {
    const data = dagPb.decode(bytes).Data
    const node = data === undefined ? undefined : UnixFS.unmarshal(data)
    if (node === undefined) return { kind: 'other', size: bytes.length }
    if (node.isDirectory()) return { kind: 'directory', size: 0 }
    // What a node claims may be more than a number can hold.
    const size = Math.min(Number(node.fileSize()), Number.MAX_SAFE_INTEGER)
    return { kind: node.type === 'symlink' ? 'other' : 'file', size }
  } catch {
    // Valid dag-pb need not be UnixFS.
    return { kind: 'other', size: bytes.length }
  }
}

/**
 * Tells of the files below a directory, depth first; symbolic links and foreign nodes are left out. After `maxPaths`
 * paths nothing more is told of, and no directory is read twice.
 *
 * @returns the content bytes of all files, those that were not told of included
 */
export function listFiles(
  root: CID,
  options: {
    storage: ReadableStorage
    maxPaths: number
    onFile: (file: UnixfsFile) => Promise<void>
    signal?: AbortSignal | undefined
  },
): Promise<number> {
  const { storage, onFile, signal } = options
  const known = new LRUCache<string, { kind: UnixfsKind; size: number }>({ max: KNOWN_NODES })
  const totals = new Map<string, number>()
  let left = options.maxPaths

  const kindAt = async (cid: CID): Promise<{ kind: UnixfsKind; size: number }> => {
    const key = dagKey(cid)
    const kind = known.get(key) ?? kindOf(cid, await bytesOf(cid, storage))
    known.set(key, kind)
    return kind
  }
  const visit = async (directory: CID, above: string): Promise<number> => {
    const key = dagKey(directory)
    const before = totals.get(key)
    if (before !== undefined && left <= 0) return before
    let total = 0
    for await (const { name, cid } of entriesOf(directory, storage)) {
      signal?.throwIfAborted()
      const isTold = left-- > 0
      const { kind, size } = await kindAt(cid)
      if (kind === 'directory') total += await visit(cid, `${above}${name}/`)
      else if (kind === 'file') {
        total += size
        if (isTold) await onFile({ path: `${above}${name}`, cid, size })
      }
    }
    // Sizes are what blocks claim, and one block may be there any number of times.
    total = Math.min(total, Number.MAX_SAFE_INTEGER)
    totals.set(key, total)
    return total
  }
  return visit(root, '')
}

/** What a directory says is in it; nothing more where it turns out not to be one. */
async function* entriesOf(cid: CID, storage: ReadableStorage): AsyncGenerator<{ name: string; cid: CID }> {
  try {
    const directory = await exporter(cid, storage)
    if (directory.type === 'directory') yield* directory.entries()
  } catch (error) {
    if (isHoldfastError(error)) throw error
  }
}

async function bytesOf(cid: CID, storage: ReadableStorage): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of storage.get(cid)) pieces.push(piece)
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
}
