import { LRUCache } from 'lru-cache'
import type { CID } from 'multiformats/cid'
import { CODEC, dagKey } from '../../ipld/cid.ts'
import { decodeNode, type UnixfsNode } from './node.ts'

/** A block whose hash has been checked, and what it is. */
export interface Loaded {
  block: Uint8Array
  node: UnixfsNode
}

const CACHE_BYTES = 32 * 1024 ** 2
/** What an entry takes besides its block. */
const ENTRY_BYTES = 1024
/** Where a link lies, and how much is below it. */
const LINK_BYTES = 16

/**
 * The directories and file nodes that answers have read last: content that repeats itself, and every path and range
 * that goes through the same nodes, has them read once. Leaves only pass.
 */
export class NodeCache {
  readonly #nodes = new LRUCache<string, Loaded>({ maxSize: CACHE_BYTES, sizeCalculation: sizeOf })

  /**
   * A block and what it is, by `read` if it is not known. That it may be served has been checked.
   *
   * @throws whatever `read` does; HoldfastError `INVALID_CID` if the block is not what it claims.
   */
  async load(cid: CID, read: (cid: CID) => Promise<Uint8Array>): Promise<Loaded> {
    const key = cid.code === CODEC.dagPb ? dagKey(cid) : null
    const known = key === null ? undefined : this.#nodes.get(key)
    if (known !== undefined) return known
    const block = await read(cid)
    const loaded = { block, node: decodeNode(cid, block) }
    if (key !== null) this.#nodes.set(key, loaded)
    return loaded
  }
}

function sizeOf({ block, node }: Loaded): number {
  const links = 'links' in node ? node.links.length : 0
  return block.length + links * LINK_BYTES + ENTRY_BYTES
}
