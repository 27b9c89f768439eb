import { digestOf } from '../ipld/block-hash.ts'
import { HASH } from '../ipld/cid.ts'
import { BlockMemory } from './block-memory.ts'
import { type BlockThreads, isShared } from './block-threads.ts'

/**
 * Hashes blocks that lie anywhere in the threads that hash those of uploads, which have the usual hash of what fits a
 * chunk; all else is hashed as {@link digestOf} does it.
 */
export function pooledHash(threads: BlockThreads): typeof digestOf {
  const memory = new BlockMemory()
  return async (code, bytes) => {
    if (code !== HASH.sha2_256) return digestOf(code, bytes)
    const moved = await memory.settle(bytes)
    try {
      // A thread that ends says nothing about the block.
      return await (isShared(moved) ? threads.hash(moved).catch(() => digestOf(code, bytes)) : digestOf(code, bytes))
    } finally {
      memory.release(moved)
    }
  }
}
