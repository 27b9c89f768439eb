import { LRUCache } from 'lru-cache'
import type { CID } from 'multiformats/cid'
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
/** Memory of an entry without its block. */
const ENTRY_BYTES = 1024
/** Memory of a link: its offsets and its size. */
const LINK_BYTES = 16

/**
 * Caches recently read directories, file nodes and small files of one raw block, so that repeated requests read and hash
 * the same block once. Other leaves are not cached.
 */
export class NodeCache {
  readonly #nodes: LRUCache<string, Loaded>

  constructor(bytes: number = MOST_BYTES) {
    this.#nodes = new LRUCache({
      maxSize: Math.max(1, Math.min(Math.floor(bytes), MOST_BYTES)),
      sizeCalculation: sizeOf,
    })
  }

  /**
   * Returns a block and its node, cached or from `read`. The caller must have checked that the block may be served.
   *
   * @throws the errors of `read`; HoldfastError `INVALID_CID` if the block does not match its codec
   */
  async load(cid: CID, read: (cid: CID) => Promise<Uint8Array>): Promise<Loaded> {
    const isCached = cid.code === CODEC.dagPb || cid.code === CODEC.raw
    const key = isCached ? dagKey(cid) : ''
    const known = isCached ? this.#nodes.get(key) : undefined
    if (known !== undefined) return known
    const block = await read(cid)
    const loaded = { block, node: decodeNode(cid, block) }
    if (isCached && (cid.code === CODEC.dagPb || block.length <= SMALL_BYTES)) this.#nodes.set(key, loaded)
    return loaded
  }
}

function sizeOf({ block, node }: Loaded): number {
  const links = 'links' in node ? node.links.length : 0
  return block.length + links * LINK_BYTES + ENTRY_BYTES
}
