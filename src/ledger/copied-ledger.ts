import { Database } from '../storage/database.ts'
import { type BackendRow, backends, updateBackend } from './backend-table.ts'
import { BlockTable, type StoredBlock } from './block-table.ts'

/** The ledger in a copy of a database, which no engine has open. The caller closes it. */
export class CopiedLedger {
  readonly database: Database
  readonly #blocks: BlockTable

  /**
   * @param readonly leaves the copy as it is; otherwise it is brought up to the newest schema
   * @throws HoldfastError `DATA_DIR_NEWER`, `DATA_DIR_UNUSABLE`
   */
  constructor(file: string, { readonly }: { readonly: boolean }) {
    this.database = new Database(file, { readonly })
    this.#blocks = new BlockTable(this.database)
  }

  /** The next durable blocks by id, to go through all of them. */
  durableAfter(id: number, limit: number): StoredBlock[] {
    return this.#blocks.durableAfter(id, limit)
  }

  /** The bytes of a block that is a row. */
  bytes(blockId: number): Uint8Array | undefined {
    return this.#blocks.bytes(blockId)
  }

  /** Whether a block is durable on a backend, as a file. */
  hasFile(backendId: number, multihash: Uint8Array): boolean {
    const row = this.#blocks.find(backendId, multihash)
    return row?.state === 'durable' && row.inline === 0
  }

  /** Those of clusters with a data directory of their own. */
  backends(): BackendRow[] {
    return backends(this.database)
  }

  moveBackend(backend: BackendRow, dataDir: string): void {
    updateBackend(this.database, { ...backend, dataDir })
  }

  close(): void {
    this.database.close()
  }
}
