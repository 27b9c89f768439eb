import type { RootTable } from '../../ledger/root-table.ts'
import type { Files, ListedContent, ListedFile } from '../listed-files.ts'

/** Files in the engine's own database. */
export class SqliteFiles implements Files {
  readonly #roots: RootTable

  constructor(roots: RootTable) {
    this.#roots = roots
  }

  async content(rootId: number): Promise<ListedContent | undefined> {
    return this.#roots.get(rootId)
  }

  async page(rootId: number, offset: number, limit: number): Promise<ListedFile[]> {
    return this.#roots.files(rootId, offset, limit)
  }

  async pageOf(
    rootId: number,
    multihash: Uint8Array,
    offset: number,
    limit: number,
  ): Promise<{ files: ListedFile[]; total: number }> {
    const total = this.#roots.countFilesOf(rootId, multihash)
    return { files: offset < total ? this.#roots.filesOf(rootId, multihash, offset, limit) : [], total }
  }
}
