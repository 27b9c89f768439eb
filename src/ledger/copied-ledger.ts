import { type Sealing, sealingKeyId } from '../domain/sealing.ts'
import { openDataKey } from '../storage/data-key.ts'
import { Database, type Statement } from '../storage/database.ts'
import { type BackendRow, backends, updateBackend } from './backend-table.ts'
import { BYTES_OF, DURABLE_AFTER, FIND_BLOCK } from './block-table.ts'
import type { BlockRow, StoredBlock } from './blocks.ts'

/** A complete root of a copy. */
export interface CopiedRoot {
  id: number
  /** When its last record expires; null for never. */
  liveUntil: number | null
}

/** The ledger in a copy of a database, which no engine has open. The caller closes it. */
export class CopiedLedger {
  readonly #database: Database
  readonly #durableAfter: Statement<[number, number], StoredBlock>
  readonly #bytes: Statement<[number], { bytes: Uint8Array }>
  readonly #find: Statement<[Uint8Array, number], BlockRow>
  #keptElsewhere: Statement<[number], unknown> | null = null
  #completeAfter: Statement<[number, number], CopiedRoot> | null = null

  /**
   * @param readonly leaves the copy as it is; otherwise it is brought up to the newest schema
   * @throws HoldfastError `DATA_DIR_NEWER`, `DATA_DIR_UNUSABLE`
   */
  constructor(file: string, { readonly }: { readonly: boolean }) {
    this.#database = new Database(file, { readonly })
    this.#durableAfter = this.#database.prepare(DURABLE_AFTER)
    this.#bytes = this.#database.prepare(BYTES_OF)
    this.#find = this.#database.prepare(FIND_BLOCK)
  }

  /** The next durable blocks by id, to go through all of them. */
  durableAfter(id: number, limit: number): StoredBlock[] {
    return this.#durableAfter.all(id, limit)
  }

  /** The bytes of a block that is a row. */
  bytes(blockId: number): Uint8Array | undefined {
    return this.#bytes.get(blockId)?.bytes
  }

  /** Whether a block is durable on a backend, as a file. */
  hasFile(backendId: number, multihash: Uint8Array): boolean {
    const row = this.#find.get(multihash, backendId)
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

  /** The next complete roots by id, to go through all of them. */
  completeAfter(id: number, limit: number): CopiedRoot[] {
    this.#completeAfter ??= this.#database.prepare(`
      SELECT id, live_until AS liveUntil FROM roots WHERE id > ? AND state = 'complete' ORDER BY id LIMIT ?`)
    return this.#completeAfter.all(id, limit)
  }

  /** The identity of the data directory; null for a schema that has none. */
  node(): string | null {
    const hasOne = `SELECT 1 FROM sqlite_schema WHERE name = 'node_identity'`
    if (this.#database.prepare(hasOne).get() === undefined) return null
    return this.#database.prepare<[], { id: string }>('SELECT id FROM node_identity').get()?.id ?? null
  }

  /** Gives the copy an identity of its own. */
  renewNode(): void {
    this.#database.prepare('UPDATE node_identity SET id = lower(hex(randomblob(16)))').run()
  }

  /** The name of the key that seals; null before the first start has made one. */
  dataKeyId(): string | null {
    return this.#database.prepare<[], { id: string }>('SELECT id FROM data_key').get()?.id ?? null
  }

  /** Whether the text of a key file is the key that seals. */
  isDataKey(text: string): boolean {
    const known = this.dataKeyId()
    return known === null || sealingKeyId(Buffer.from(text, 'base64url')) === known
  }

  /** The name by which a catalogue that is kept elsewhere knows the data directory; null if there is none. */
  catalogueNode(): string | null {
    return this.#database.prepare<[], { name: string }>('SELECT name FROM catalogue_node').get()?.name ?? null
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
