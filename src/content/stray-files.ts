import type { StoredBlock } from '../ledger/blocks.ts'
import type { BlockStore } from './block-store.ts'

const DIRECTORIES_AT_ONCE = 8

/**
 * Finds block files without a row in the ledger, for example after a power cut. Each call searches only a few
 * directories.
 */
export class StrayFiles {
  readonly #stores: ReadonlyMap<number, BlockStore>
  #left: Array<{ store: BlockStore; directory: string }> = []

  constructor(stores: ReadonlyMap<number, BlockStore>) {
    this.#stores = stores
  }

  /**
   * Searches the next directories. Returns the blocks of the stray files, now `deleting`. The caller removes the files.
   */
  async next(): Promise<StoredBlock[]> {
    if (this.#left.length === 0) this.#left = await this.#all()
    const strays: StoredBlock[] = []
    for (const { store, directory } of this.#left.splice(0, DIRECTORIES_AT_ONCE)) {
      strays.push(...(await store.claimStrays(directory)))
    }
    return strays
  }

  async #all(): Promise<Array<{ store: BlockStore; directory: string }>> {
    const all = [...this.#stores.values()].map(async store =>
      (await store.directories()).map(directory => ({ store, directory })),
    )
    return (await Promise.all(all)).flat()
  }
}
