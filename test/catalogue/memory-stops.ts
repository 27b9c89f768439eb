import type { DeletionStops } from '../../src/catalogue/index.ts'
import type { MemoryContent } from './memory-content.ts'

/** Stops of deletion in memory, for one node. */
export function memoryStops(all: MemoryContent, keptBytes: (accountId: string) => Promise<number>): DeletionStops {
  return {
    async begin() {
      all.released = new Map()
    },
    async end() {
      all.released = null
    },
    undeletedBytes: async accountId => (await keptBytes(accountId)) + (all.released?.get(accountId) ?? 0),
  }
}
