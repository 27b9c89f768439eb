import type { Sealing } from '../domain/sealing.ts'
import { openDataKey } from '../storage/data-key.ts'
import { Database, type Statement } from '../storage/database.ts'
import { type BackendRow, backends, updateBackend } from './backend-table.ts'
import { BlockTable } from './block-table.ts'
import type { StoredBlock } from './blocks.ts'

/** The ledger in a copy of a database, which no engine has open. The caller closes it. */
export class CopiedLedger {
  readonly #database: Database
  readonly #blocks: BlockTable
  #keptElsewhere: Statement<[number], unknown> | null = null

  /**
   * @param readonly leaves the copy as it is; otherwise it is brought up to the newest schema
   * @throws HoldfastError `DATA_DIR_NEWER`, `DATA_DIR_UNUSABLE`
   */
  constructor(file: string, { readonly }: { readonly: boolean }) {
    this.#database = new Database(file, { readonly })
    this.#blocks = new BlockTable(this.#database)
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

  /** Whether everything that needs a block has it on a backend elsewhere as well. */
  isKeptElsewhere(blockId: number): boolean {
    const placed = `SELECT 1 FROM placements p
      WHERE p.multihash = r.multihash AND p.codec = r.codec AND p.backend_id = r.backend_id AND p.placed = 1`
    this.#keptElsewhere ??= this.#database.prepare(`
      SELECT 1 FROM blocks b
      WHERE b.id = ? AND EXISTS (SELECT 1 FROM placements WHERE backend_id = b.backend_id) AND NOT EXISTS (
        SELECT 1 FROM root_blocks rb JOIN roots r ON r.id = rb.root_id
        WHERE rb.block_id = b.id AND r.state <> 'dropped' AND NOT (r.state = 'complete' AND EXISTS (${placed})))`)
    return this.#keptElsewhere.get(blockId) !== undefined
  }

  /** Those of clusters with a data directory of their own. */
  backends(): BackendRow[] {
    return backends(this.#database)
  }

  moveBackend(backend: BackendRow, dataDir: string): void {
    updateBackend(this.#database, { ...backend, dataDir })
  }

  /** Sealing with the key that a data directory has, which has to be that of the copy. @throws HoldfastError `DATA_DIR_UNUSABLE` */
  openDataKey(dataDir: string): Sealing {
    return openDataKey(this.#database, dataDir)
  }

  close(): void {
    this.#database.close()
  }
}
