import { LRUCache } from 'lru-cache'
import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { CODEC, dagKey } from '../../ipld/cid.ts'
import type { NodeLinks } from '../dag/dag-pb.ts'
import { decodeNode } from './node.ts'
import { prefixLength } from './shard.ts'

/** Nodes whose kind is cached during a listing. */
const KNOWN_NODES = 10_000
/** Levels above the present directory whose links stay in memory; links further up are read again. */
const KEPT_LINKS = 16
/** Longest reported path in characters; deeper files are only counted. */
const LONGEST_PATH = 4_096

/** A file below a UnixFS directory. */
export interface UnixfsFile {
  /** Null if it is too long. */
  path: string | null
  cid: CID
  /** Content bytes. */
  size: number
}

/** Totals below a directory, each file counted as often as it occurs. Capped at the largest safe integer. */
export interface FileTotals {
  /** Content bytes. */
  bytes: number
  files: number
}

/** Kind of a root in UnixFS. */
export type UnixfsKind = 'file' | 'directory' | 'other'

/** Source of blocks for a listing. */
export interface ListedBlocks {
  get(cid: CID): Promise<Uint8Array>
  /** Returns the bytes of a block; null if unknown without reading it. */
  sizeOf(cid: CID): number | null
}

interface Node {
  kind: UnixfsKind
  size: number
  /** For a directory: characters of a name that are the number of its bucket. */
  prefix: number
  links: NodeLinks | null
}

/** Returns the kind of a root from its block, without reading others. */
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
    // An unreadable block is not part of a file.
  }
  return { kind: 'other', size: bytes.length, prefix: 0, links: null }
}

/** A directory, or a shard of one, on the way to the present one. */
interface Open {
  cid: CID
  /** Ends with a slash unless empty; null if it is too long. */
  path: string | null
  /** Dropped while the listing is far below. */
  node: Node | null
  next: number
  /** Totals so far; null if the directory was listed before and its paths are only repeated. */
  totals: FileTotals | null
}

export interface ListOptions {
  blocks: ListedBlocks
  /** Limit of paths reported for directories that occur again. */
  maxRepeats: number
  onFile: (file: UnixfsFile) => Promise<void>
  signal?: AbortSignal | undefined
}

/**
 * Reports the files below a directory, depth first; skips symbolic links and foreign nodes. Reads each distinct
 * directory once. If one occurs again, it reports its files until `maxRepeats` is used up, and adds its known totals. A
 * few blocks with many paths thus cost no more than themselves.
 */
export async function listFiles(root: CID, options: ListOptions): Promise<FileTotals> {
  return new Listing(options).run(root)
}

class Listing {
  readonly #options: ListOptions
  readonly #kinds = new LRUCache<string, { kind: UnixfsKind; size: number }>({ max: KNOWN_NODES })
  /** Totals of each directory that has been read. */
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
    const name = links.name(index)
    if (prefix > 0 && name.length === prefix) return this.#descend(open, cid, open.path)
    const { kind, size } = await this.#kindOf(cid)
    if (kind === 'other') return
    const path = joined(open.path, name.slice(prefix))
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

/** Returns null if the link has no valid CID. */
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

/** Caps a total: blocks claim their sizes, and one block may occur any number of times. */
function bounded(count: number): number {
  return Math.min(count, Number.MAX_SAFE_INTEGER)
}
