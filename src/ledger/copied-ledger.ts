import { databaseFiles } from '../disk/database-files.ts'
import { type Sealing, sealingKeyId } from '../domain/sealing.ts'
import { openDataKey } from '../storage/data-key.ts'
import { Database, type Statement } from '../storage/database.ts'
import { keptCopies } from '../storage/kept-copy.ts'
import { type BackendRow, backends, updateBackend } from './backend-table.ts'
import { FIND_BLOCK } from './block-rows.ts'
import { BYTES_OF, DURABLE_AFTER } from './block-table.ts'
import type { BlockRow, StoredBlock } from './blocks.ts'
import { catalogueNode } from './catalogue-node.ts'

/** Returns the names of the files that opening a copy, and migrating it, may leave beside it. */
export function filesBesideCopy(file: string): string[] {
  const [, ...logs] = databaseFiles(file)
  return [...logs, ...keptCopies(file)]
}

export interface CopiedRoot {
  id: number
  /** End of the root's last hold in ms since the epoch; null if a hold never ends. */
  liveUntil: number | null
}

/** The ledger in a copy of a database that no engine has open. The caller closes it. */
export class CopiedLedger {
  readonly #database: Database
  readonly #durableAfter: Statement<[number, number], StoredBlock>
  readonly #bytes: Statement<[number], { bytes: Uint8Array }>
  readonly #find: Statement<[Uint8Array, number], BlockRow>
  #keptExternally: Statement<[number], unknown> | null = null
  #completeAfter: Statement<[number, number], CopiedRoot> | null = null

  /**
   * @param readonly false to migrate the copy to the newest schema
   * @throws HoldfastError `DATA_DIR_NEWER`, `DATA_DIR_UNUSABLE`
   */
  constructor(file: string, { readonly }: { readonly: boolean }) {
    this.#database = new Database(file, { readonly })
    this.#durableAfter = this.#database.prepare(DURABLE_AFTER)
    this.#bytes = this.#database.prepare(BYTES_OF)
    this.#find = this.#database.prepare(FIND_BLOCK)
  }

  durableAfter(id: number, limit: number): StoredBlock[] {
    return this.#durableAfter.all(id, limit)
  }

  /** Returns the bytes of a block that is stored in the database. */
  bytes(blockId: number): Uint8Array | undefined {
    return this.#bytes.get(blockId)?.bytes
  }

  /** Returns whether a block is durable on a backend. */
  has(backendId: number, multihash: Uint8Array): boolean {
    return this.#find.get(multihash, backendId)?.state === 'durable'
  }

  /** Returns whether a block is durable on a backend and stored as a file. */
  hasFile(backendId: number, multihash: Uint8Array): boolean {
    const row = this.#find.get(multihash, backendId)
    return row?.state === 'durable' && row.inline === 0
  }

  /** Returns whether an external backend also stores all DAGs that need the block. */
  isKeptExternally(blockId: number): boolean {
    const placed = `SELECT 1 FROM placements p
      WHERE p.multihash = r.multihash AND p.codec = r.codec AND p.backend_id = r.backend_id AND p.placed = 1`
    this.#keptExternally ??= this.#database.prepare(`
      SELECT 1 FROM blocks b
      WHERE b.id = ? AND EXISTS (SELECT 1 FROM placements WHERE backend_id = b.backend_id) AND NOT EXISTS (
        SELECT 1 FROM root_blocks rb JOIN roots r ON r.id = rb.root_id
        WHERE rb.block_id = b.id AND r.state <> 'dropped' AND NOT (r.state = 'complete' AND EXISTS (${placed})))`)
    return this.#keptExternally.get(blockId) !== undefined
  }

  /** Returns whether a fetch is for an account. */
  awaitsPrivate(): boolean {
    return this.#database.prepare('SELECT 1 FROM fetches WHERE owner <> 0 LIMIT 1').get() !== undefined
  }

  ownersAfter(id: number, limit: number): Array<{ id: number; owner: number }> {
    const text = "SELECT id, owner FROM roots WHERE id > ? AND state <> 'dropped' ORDER BY id LIMIT ?"
    return this.#database.prepare<[number, number], { id: number; owner: number }>(text).all(id, limit)
  }

  completeAfter(id: number, limit: number): CopiedRoot[] {
    this.#completeAfter ??= this.#database.prepare(`
      SELECT id, live_until AS liveUntil FROM roots WHERE id > ? AND state = 'complete' ORDER BY id LIMIT ?`)
    return this.#completeAfter.all(id, limit)
  }

  /** Returns the identity of the data directory; null if the schema is too old to have one. */
  node(): string | null {
    const hasOne = `SELECT 1 FROM sqlite_schema WHERE name = 'node_identity'`
    if (this.#database.prepare(hasOne).get() === undefined) return null
    return this.#database.prepare<[], { id: string }>('SELECT id FROM node_identity').get()?.id ?? null
  }

  /** Lets the node find that its ledger is older than its external catalogue. */
  forgetRuns(): void {
    this.#database.prepare("UPDATE catalogue_runs SET run = 'restored', is_joined = 1").run()
  }

  renewNode(): void {
    this.#database.prepare('UPDATE node_identity SET id = lower(hex(randomblob(16)))').run()
  }

  /** Returns null if the data directory has no key yet. */
  dataKeyId(): string | null {
    return this.#database.prepare<[], { id: string }>('SELECT id FROM data_key').get()?.id ?? null
  }

  /** Checks the text of a key file. If the copy names no key, any key is accepted. */
  isDataKey(text: string): boolean {
    const known = this.dataKeyId()
    return known === null || sealingKeyId(Buffer.from(text, 'base64url')) === known
  }

  catalogueNode(): string | null {
    return catalogueNode(this.#database)
  }

  backends(): BackendRow[] {
    return backends(this.#database)
  }

  moveBackend(backend: BackendRow, dataDir: string): void {
    updateBackend(this.#database, { ...backend, dataDir })
  }

  /** @throws HoldfastError `DATA_DIR_UNUSABLE` if the key is not the key of the copy */
  openDataKey(dataDir: string): Sealing {
    return openDataKey(this.#database, dataDir)
  }

  close(): void {
    this.#database.close()
  }
}
