import { digestOf } from '../ipld/block-hash.ts'
import { HASH } from '../ipld/cid.ts'
import { BlockMemory } from './block-memory.ts'
import { type BlockThreads, isShared } from './block-threads.ts'

/**
 * Returns a hash function for blocks in any memory. Worker threads compute SHA-256 for blocks up to the size of a
 * chunk, and {@link digestOf} all other hashes.
 */
export function pooledHash(threads: BlockThreads): typeof digestOf {
  const memory = new BlockMemory()
  return async (code, bytes) => {
    if (code !== HASH.sha2_256) return digestOf(code, bytes)
    const moved = await memory.settle(bytes)
    try {
      // If the thread fails, compute the hash without it, because this failure says nothing about the block.
      return await (isShared(moved) ? threads.hash(moved).catch(() => digestOf(code, bytes)) : digestOf(code, bytes))
    } finally {
      memory.release(moved)
    }
  }
}
