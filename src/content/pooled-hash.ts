import { digestOf } from '../ipld/block-hash.ts'
import { HASH } from '../ipld/cid.ts'
import { BlockMemory } from './block-memory.ts'
import { type BlockThreads, isShared } from './block-threads.ts'

/**
 * Returns a hash function for blocks in any memory. SHA-256 of blocks up to the size of a chunk runs in the threads of
 * uploads; all other hashes run in {@link digestOf}.
 */
export function pooledHash(threads: BlockThreads): typeof digestOf {
  const memory = new BlockMemory()
  return async (code, bytes) => {
    if (code !== HASH.sha2_256) return digestOf(code, bytes)
    const moved = await memory.settle(bytes)
    try {
      // The end of a thread says nothing about the block.
      return await (isShared(moved) ? threads.hash(moved).catch(() => digestOf(code, bytes)) : digestOf(code, bytes))
    } finally {
      memory.release(moved)
    }
  }
}
