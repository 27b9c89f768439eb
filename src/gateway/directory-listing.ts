import type { CID } from 'multiformats/cid'
import { CODEC } from '../domain/cid.ts'
import type { RequestBlocks } from './request-blocks.ts'
import { shardEntries } from './shard.ts'
import { type DirectoryLink, decodeNode, type UnixfsNode } from './unixfs-node.ts'

export type DirectoryNode = Extract<UnixfsNode, { kind: 'directory' | 'shard' }>

export interface ListingEntry {
  name: string
  cid: CID
  type: 'file' | 'directory' | 'symlink' | 'other'
  /** Content bytes of a file, DAG bytes of a directory. */
  size: number
}

export interface Listing {
  entries: ListingEntry[]
  /** The name to ask for the next page with; null at the end. */
  next: string | null
}

const PAGE_ENTRIES = 500
/** Entries looked at together, so that a page waits for the disk a few times only. */
const BATCH = 32

/**
 * A page of a directory: a plain one by name, a sharded one in the order of its shards, so that a page costs the
 * same wherever it is.
 *
 * @param after the last name of the page before; null for the first page
 */
export async function listDirectory(
  blocks: RequestBlocks,
  directory: DirectoryNode,
  after: string | null,
): Promise<Listing> {
  const links: DirectoryLink[] = []
  for await (const link of linksAfter(blocks, directory, after)) if (links.push(link) > PAGE_ENTRIES) break
  const page = links.slice(0, PAGE_ENTRIES)
  const entries: ListingEntry[] = []
  for (let index = 0; index < page.length; index += BATCH) {
    const batch = page.slice(index, index + BATCH).map(link => describe(blocks, link))
    entries.push(...(await Promise.all(batch)))
  }
  return { entries, next: links.length > PAGE_ENTRIES ? (page.at(-1)?.name ?? null) : null }
}

async function* linksAfter(
  blocks: RequestBlocks,
  directory: DirectoryNode,
  after: string | null,
): AsyncGenerator<DirectoryLink> {
  if (directory.kind === 'shard') yield* shardEntries(blocks, directory, after)
  else {
    const sorted = [...directory.links].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    for (const link of sorted) if (after === null || link.name > after) yield link
  }
}

async function describe(blocks: RequestBlocks, { name, cid, dagSize }: DirectoryLink): Promise<ListingEntry> {
  if (cid.code === CODEC.raw) return { name, cid, type: 'file', size: blocks.sizeOf(cid) ?? dagSize }
  // Another block each, from the network, would take too long.
  if (cid.code !== CODEC.dagPb || !blocks.isLocal) return { name, cid, type: 'other', size: dagSize }
  try {
    const node = decodeNode(cid, await blocks.get(cid))
    if (node.kind === 'file') return { name, cid, type: 'file', size: node.size }
    if (node.kind === 'symlink') return { name, cid, type: 'symlink', size: node.target.length }
    return { name, cid, type: node.kind === 'opaque' ? 'other' : 'directory', size: dagSize }
  } catch {
    // One entry that cannot be read must not hide all others.
    return { name, cid, type: 'other', size: dagSize }
  }
}
