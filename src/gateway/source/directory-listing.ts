import type { CID } from 'multiformats/cid'
import type { DirectoryLink, NodeLinks } from '../../content/dag/dag-pb.ts'
import { type Attributes, attributesOf } from '../../content/unixfs/attributes.ts'
import type { BlockReader } from '../../content/unixfs/block-reader.ts'
import type { UnixfsNode } from '../../content/unixfs/node.ts'
import { shardEntries } from '../../content/unixfs/shard.ts'
import { bytesOfText } from '../../domain/byte-text.ts'
import { CODEC, dagKey } from '../../ipld/cid.ts'
import type { RequestBlocks } from './request-blocks.ts'

export type DirectoryNode = Extract<UnixfsNode, { kind: 'directory' | 'shard' }>

export interface ListingEntry extends Attributes {
  /** Text form. */
  name: string
  cid: CID
  type: 'file' | 'directory' | 'symlink' | 'other'
  /** Size in bytes: of a file's content, or of a directory's whole DAG. */
  size: number
}

export interface Listing {
  entries: ListingEntry[]
  /** Name of the last entry, with which the client requests the next page. Null on the last page. */
  next: string | null
}

const PAGE_ENTRIES = 500
/** Number of entries described in parallel. */
const BATCH = 32
/** Maximum number of characters of all names on a page. A page with long names has fewer entries. */
const PAGE_NAMES = 1024 ** 2
/** Maximum number of links in shards to visit for a page. A normal page needs far fewer. */
const PAGE_SHARD_LINKS = 100_000
/** Limits the bytes of blocks that are read to determine types. Beyond the limit, entries have the type `other`. */
const PAGE_BLOCK_BYTES = 128 * 1024 ** 2

/**
 * Lists one page. A sharded directory is in the order of its shards, so every page costs about the same.
 *
 * @param after last name of the previous page; null for the first page
 */
export async function listDirectory(
  blocks: RequestBlocks,
  directory: DirectoryNode,
  after: string | null,
): Promise<Listing> {
  const links =
    directory.kind === 'shard'
      ? await firstOf(shardEntries(shardReader(blocks), directory, after))
      : await firstByName(blocks, directory.links, after)
  const page = pageOf(links)
  const describer = new Describer(blocks)
  const entries: ListingEntry[] = []
  for (let index = 0; index < page.length; index += BATCH) {
    const batch = page.slice(index, index + BATCH).map(link => describer.describe(link))
    entries.push(...(await Promise.all(batch)))
  }
  return { entries, next: links.length > page.length ? (page.at(-1)?.name ?? null) : null }
}

function shardReader(blocks: RequestBlocks): BlockReader {
  const { spareReads, budget } = blocks
  return {
    get: cid => blocks.get(cid),
    load: cid => blocks.load(cid),
    spareReads,
    budget: budget.within(PAGE_SHARD_LINKS),
  }
}

function pageOf(links: readonly DirectoryLink[]): DirectoryLink[] {
  let characters = 0
  const fits = ({ name }: DirectoryLink, index: number): boolean => {
    characters += name.length
    return index < PAGE_ENTRIES && (index === 0 || characters <= PAGE_NAMES)
  }
  const end = links.findIndex((link, index) => !fits(link, index))
  return links.slice(0, end === -1 ? links.length : end)
}

/** Returns the links of a page, and the first link of the next page. */
async function firstOf(source: AsyncIterable<DirectoryLink>): Promise<DirectoryLink[]> {
  const links: DirectoryLink[] = []
  let characters = 0
  for await (const link of source) {
    links.push(link)
    characters += link.name.length
    if (links.length > PAGE_ENTRIES || characters > PAGE_NAMES) break
  }
  return links
}

/**
 * Returns the links after the name `after`, sorted, and the first link of the next page. Keeps at most two pages of
 * names in memory.
 */
async function firstByName(
  { budget }: RequestBlocks,
  links: NodeLinks,
  after: string | null,
): Promise<DirectoryLink[]> {
  let kept: Array<{ name: string; index: number }> = []
  let bound = null as string | null
  const settle = (): void => {
    kept.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    kept = kept.slice(0, PAGE_ENTRIES + 1)
    if (kept.length > PAGE_ENTRIES) bound = kept.at(-1)?.name ?? null
  }
  for (let index = 0; index < links.length; index++) {
    const turn = budget.step()
    if (turn !== null) await turn
    const name = links.name(index)
    if ((after !== null && name <= after) || (bound !== null && name >= bound)) continue
    if (kept.push({ name, index }) > 2 * PAGE_ENTRIES) settle()
  }
  settle()
  return kept.map(({ index }) => links.at(index))
}

type Description = Pick<ListingEntry, 'type' | 'size' | keyof Attributes>

/** Determines the type and size of entries. Loads each linked block once. */
class Describer {
  readonly #blocks: RequestBlocks
  readonly #known = new Map<string, Promise<Description | null>>()
  #bytesLeft = PAGE_BLOCK_BYTES

  constructor(blocks: RequestBlocks) {
    this.#blocks = blocks
  }

  async describe({ name, cid, dagSize }: DirectoryLink): Promise<ListingEntry> {
    if (cid.code === CODEC.raw) return { name, cid, type: 'file', size: this.#blocks.sizeOf(cid) ?? dagSize }
    // Loading one block per entry from the network would take too long.
    if (cid.code !== CODEC.dagPb || !this.#blocks.isLocal) return { name, cid, type: 'other', size: dagSize }
    const key = dagKey(cid)
    const known = this.#known.get(key) ?? this.#look(cid)
    this.#known.set(key, known)
    const { type, size, ...attributes }: Description = (await known) ?? { type: 'other', size: dagSize }
    return { name, cid, type, size: type === 'directory' || type === 'other' ? dagSize : size, ...attributes }
  }

  /** Returns null on failure, so one unreadable entry does not break the listing. */
  async #look(cid: CID): Promise<Description | null> {
    this.#bytesLeft -= this.#blocks.sizeOf(cid) ?? 0
    if (this.#bytesLeft < 0) return null
    const turn = this.#blocks.budget.step()
    if (turn !== null) await turn
    try {
      const { node } = await this.#blocks.load(cid)
      if (node.kind === 'opaque') return null
      const attributes = attributesOf(node)
      if (node.kind === 'file') return { type: 'file', size: node.size, ...attributes }
      if (node.kind === 'symlink') return { type: 'symlink', size: bytesOfText(node.target).length, ...attributes }
      return { type: 'directory', size: 0, ...attributes }
    } catch {
      return null
    }
  }
}
