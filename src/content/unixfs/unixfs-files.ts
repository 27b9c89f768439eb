import { LRUCache } from 'lru-cache'
import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { atMost } from '../../domain/lru.ts'
import { CODEC, dagKey } from '../../ipld/cid.ts'
import type { NodeLinks } from '../dag/dag-pb.ts'
import { decodeNode } from './node.ts'
import { prefixLength } from './shard.ts'

/** Maximum number of nodes whose kind is cached during a listing. */
const KNOWN_NODES = 10_000
/** Levels above the current directory whose links stay in memory. Links further up are read again. */
const KEPT_LINKS = 16
/** Files with longer paths are counted, but reported without a path. */
const LONGEST_PATH = 4_096

export interface UnixfsFile {
  /** Text form. Null if the path is too long. */
  path: string | null
  cid: CID
  /** Content size in bytes. */
  size: number
}

/** A file that occurs repeatedly counts each time. Each total stops at the largest safe integer. */
export interface FileTotals {
  bytes: number
  files: number
}

export type UnixfsKind = 'file' | 'directory' | 'other'

export interface ListedBlocks {
  get(cid: CID): Promise<Uint8Array>
  /** Returns null if the size in bytes is unknown without reading the block. */
  sizeOf(cid: CID): number | null
}

interface Node {
  kind: UnixfsKind
  size: number
  /** Bytes before each name in a sharded directory. They are the index of the bucket. */
  prefix: number
  links: NodeLinks | null
}

/** Returns the kind and the size in bytes of a root. Needs only the root's block. */
export function kindOf(cid: CID, bytes: Uint8Array): { kind: UnixfsKind; size: number } {
  const { kind, size } = nodeOf(cid, bytes)
  return { kind, size }
}

function nodeOf(cid: CID, bytes: Uint8Array): Node {
  try {
    const node = decodeNode(cid, bytes)
    if (node.kind === 'file') return { kind: 'file', size: node.size, prefix: 0, links: null }
    if (node.kind === 'directory') return { kind: 'directory', size: 0, prefix: 0, links: node.links }
    if (node.kind === 'shard') return { kind: 'directory', size: 0, prefix: prefixLength(node), links: node.links }
  } catch {
    // A block that cannot be decoded is not part of a file.
  }
  return { kind: 'other', size: bytes.length, prefix: 0, links: null }
}

interface Open {
  cid: CID
  /** Path that ends with a slash, or is empty for the root. Null if the path is too long. */
  path: string | null
  /** Null if the listing is so many levels below that the node was dropped from memory. */
  node: Node | null
  next: number
  /** Totals so far. Null if the directory was listed before, so that only its paths are reported again. */
  totals: FileTotals | null
}

export interface ListOptions {
  blocks: ListedBlocks
  /** Maximum number of paths that are reported for directories that occur repeatedly. */
  maxRepeats: number
  onFile: (file: UnixfsFile) => Promise<void>
  signal?: AbortSignal | undefined
}

/**
 * Reports the files below a directory, depth first. Skips symbolic links and nodes that are not UnixFS. Reads each
 * distinct directory once. A repeated directory reports its paths again, until `maxRepeats` is used up.
 */
export async function listFiles(root: CID, options: ListOptions): Promise<FileTotals> {
  return new Listing(options).run(root)
}

class Listing {
  readonly #options: ListOptions
  readonly #kinds = new LRUCache<string, { kind: UnixfsKind; size: number }>(atMost(KNOWN_NODES))
  /** By the key of the directory. */
  readonly #known = new Map<string, FileTotals>()
  readonly #open: Open[] = []
  #repeats: number

  constructor(options: ListOptions) {
    this.#options = options
    this.#repeats = options.maxRepeats
  }

  async run(root: CID): Promise<FileTotals> {
    const totals = { bytes: 0, files: 0 }
    this.#enter({ cid: root, path: '', node: null, next: 0, totals })
    for (let open = this.#open.at(-1); open !== undefined; open = this.#open.at(-1)) {
      if (turnSpent()) await nextTurn(this.#options.signal)
      open.node ??= nodeOf(open.cid, await this.#options.blocks.get(open.cid))
      const { links, prefix } = open.node
      const isOver = open.next >= (links?.length ?? 0) || (open.totals === null && this.#repeats <= 0)
      if (links === null || isOver) this.#leave(open)
      else await this.#visit(open, links, open.next++, prefix)
    }
    return totals
  }

  #enter(open: Open): void {
    this.#open.push(open)
    const far = this.#open.at(-1 - KEPT_LINKS)
    if (far !== undefined) far.node = null
  }

  #leave({ cid, totals }: Open): void {
    this.#open.pop()
    if (totals === null) return
    this.#known.set(dagKey(cid), totals)
    const parent = this.#open.at(-1)
    if (parent !== undefined) add(parent.totals, totals)
  }

  async #visit(open: Open, links: NodeLinks, index: number, prefix: number): Promise<void> {
    const cid = linkAt(links, index)
    if (cid === null) return
    if (open.totals === null) this.#repeats--
    if (prefix > 0 && links.nameBytes(index).length === prefix) return this.#descend(open, cid, open.path)
    const { kind, size } = await this.#kindOf(cid)
    if (kind === 'other') return
    const path = joined(open.path, links.name(index, prefix))
    if (kind === 'directory') return this.#descend(open, cid, joined(path, '/'))
    add(open.totals, { bytes: size, files: 1 })
    await this.#options.onFile({ path, cid, size })
  }

  #descend(open: Open, cid: CID, path: string | null): void {
    const known = this.#known.get(dagKey(cid))
    if (known === undefined) {
      this.#enter({ cid, path, node: null, next: 0, totals: { bytes: 0, files: 0 } })
      return
    }
    add(open.totals, known)
    if (known.files > 0 && path !== null && this.#repeats > 0)
      this.#enter({ cid, path, node: null, next: 0, totals: null })
  }

  async #kindOf(cid: CID): Promise<{ kind: UnixfsKind; size: number }> {
    const { blocks } = this.#options
    const rawSize = cid.code === CODEC.raw ? blocks.sizeOf(cid) : null
    if (rawSize !== null) return { kind: 'file', size: rawSize }
    const key = dagKey(cid)
    const kind = this.#kinds.get(key) ?? kindOf(cid, await blocks.get(cid))
    this.#kinds.set(key, kind)
    return kind
  }
}

function linkAt(links: NodeLinks, index: number): CID | null {
  try {
    return links.cid(index)
  } catch {
    return null
  }
}

function joined(path: string | null, name: string): string | null {
  return path === null || path.length + name.length > LONGEST_PATH ? null : path + name
}

function add(totals: FileTotals | null, { bytes, files }: FileTotals): void {
  if (totals === null) return
  totals.bytes = bounded(totals.bytes + bytes)
  totals.files = bounded(totals.files + files)
}

/** Caps a total. Blocks can claim any size, and one block may occur any number of times. */
function bounded(count: number): number {
  return Math.min(count, Number.MAX_SAFE_INTEGER)
}
