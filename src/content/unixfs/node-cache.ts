import { LRUCache } from 'lru-cache'
import type { CID } from 'multiformats/cid'
import type { Clock } from '../../domain/clock.ts'
import { CODEC, dagKey } from '../../ipld/cid.ts'
import { decodeNode, type UnixfsNode } from './node.ts'

/** A block whose hash has been checked, and its decoded node. */
export interface Loaded {
  block: Uint8Array
  node: UnixfsNode
}

const MOST_BYTES = 32 * 1024 ** 2
/** Larger raw blocks cost their readers less than sending them does. */
const SMALL_BYTES = 32 * 1024
/** Memory of an entry without its block, measured. */
const ENTRY_BYTES = 2_048
/** Memory of a link: its offsets and its size. */
const LINK_BYTES = 16
/** Nodes that are not used for this long are dropped. Otherwise the cache would fill up with removed content. */
const UNUSED_MS = 300_000

type Cached = Loaded & { usedAt: number }

/**
 * Caches recently read directories, file nodes and small files of one raw block, so that repeated requests read and hash
 * the same block once. Other leaves are not cached.
 */
export class NodeCache {
  readonly #nodes: LRUCache<string, Cached>
  readonly #clock: Clock

  constructor(clock: Clock, bytes: number = MOST_BYTES) {
    this.#clock = clock
    this.#nodes = new LRUCache<string, Cached>({
      maxSize: Math.max(1, Math.min(Math.floor(bytes), MOST_BYTES)),
      sizeCalculation: sizeOf,
    })
  }

  /**
   * Returns a block and its node, cached or from `read`. The caller must have checked that the block may be served.
   *
   * @param group nodes of another group are not returned; null for a node that is not cached
   * @throws the errors of `read`; HoldfastError `INVALID_CID` if the block does not match its codec
   */
  async load(cid: CID, read: (cid: CID) => Promise<Uint8Array>, group: string | null = ''): Promise<Loaded> {
    const isCached = group !== null && (cid.code === CODEC.dagPb || cid.code === CODEC.raw)
    const key = isCached ? group + dagKey(cid) : ''
    const known = isCached ? this.#nodes.get(key) : undefined
    if (known !== undefined) {
      known.usedAt = this.#clock.now()
      return known
    }
    const block = await read(cid)
    const loaded = { block, node: decodeNode(cid, block), usedAt: this.#clock.now() }
    this.#dropUnused(loaded.usedAt - UNUSED_MS)
    if (isCached && (cid.code === CODEC.dagPb || block.length <= SMALL_BYTES)) this.#nodes.set(key, loaded)
    return loaded
  }

  #dropUnused(since: number): void {
    let unused = 0
    for (const node of this.#nodes.rvalues()) {
      if (node === undefined || node.usedAt >= since) break
      unused++
    }
    for (; unused > 0; unused--) this.#nodes.pop()
  }
}

function sizeOf({ block, node }: Loaded): number {
  const links = 'links' in node ? node.links.length : 0
  return block.length + links * LINK_BYTES + ENTRY_BYTES
}
