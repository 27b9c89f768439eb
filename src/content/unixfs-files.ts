import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import { exporter, type ReadableStorage } from 'ipfs-unixfs-exporter'
import type { CID } from 'multiformats/cid'
import { CODEC } from '../domain/cid.ts'

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
    return { kind: node.type === 'symlink' ? 'other' : 'file', size: Number(node.fileSize()) }
  } catch {
    // Valid dag-pb need not be UnixFS.
    return { kind: 'other', size: bytes.length }
  }
}

/** All files below a directory, depth first; symbolic links and foreign nodes are left out. */
export async function* filesBelow(cid: CID, storage: ReadableStorage, above = ''): AsyncGenerator<UnixfsFile> {
  const directory = await exporter(cid, storage)
  if (directory.type !== 'directory') return
  for await (const { name, cid: child } of directory.entries()) {
    const path = above === '' ? name : `${above}/${name}`
    const { kind, size } = await kindAt(child, storage)
    if (kind === 'directory') yield* filesBelow(child, storage, path)
    else if (kind === 'file') yield { path, cid: child, size }
  }
}

async function kindAt(cid: CID, storage: ReadableStorage): Promise<{ kind: UnixfsKind; size: number }> {
  const pieces: Uint8Array[] = []
  for await (const piece of storage.get(cid)) pieces.push(piece)
  return kindOf(cid, Buffer.concat(pieces))
}
