import type { StoredBlock } from '../ledger/blocks.ts'
import type { BlockStore } from './block-store.ts'

/** Directories that one look goes through. */
const DIRECTORIES_AT_ONCE = 8

/**
 * Finds block files without a row in the ledger, which a power cut or a copied directory may leave: a few directories
 * at each call, all of them in turn, so that no call costs more for a larger store.
 */
export class StrayFiles {
  readonly #stores: ReadonlyMap<number, BlockStore>
  #left: Array<{ store: BlockStore; directory: string }> = []

  constructor(stores: ReadonlyMap<number, BlockStore>) {
    this.#stores = stores
  }

  /** Goes through the next directories. The ledger calls what is returned `deleting`; the caller removes the files. */
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
