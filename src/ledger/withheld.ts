import { createHash } from 'node:crypto'
import type { Database } from '../storage/database.ts'
import { WithStatements } from '../storage/with-statements.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import type { BlockTable } from './block-table.ts'

/** HTTP status of the response to requests for a block that is taken down. */
export type WithheldStatus = 410 | 451

/** A takedown of a block, or with `status` null the end of a takedown. */
export interface WithheldChange {
  multihash: Uint8Array
  status: WithheldStatus | null
  /** Blocks to which an identity multihash links; empty for other multihashes. */
  carried: readonly Uint8Array[]
}

export interface WithheldRow {
  multihash: Uint8Array
  /** HTTP status of the takedown; 0 while the takedown is being lifted. */
  status: WithheldStatus | 0
  /** 1 if all roots that need the block have been updated. */
  applied: 0 | 1
}

const ROOTS_AT_ONCE = 100

/** Stores takedowns of blocks, and updates the roots that need these blocks. */
export class WithheldLedger extends WithStatements {
  readonly #queue: WriteQueue
  readonly #blocks: BlockTable
  readonly #get = this.db.prepare<[Uint8Array], WithheldRow>(`
    SELECT multihash, status, applied FROM withheld WHERE multihash = ?`)
  readonly #after = this.db.prepare<[Uint8Array, number], WithheldRow>(`
    SELECT multihash, status, applied FROM withheld WHERE multihash > ? ORDER BY multihash LIMIT ?`)
  readonly #put = this.db.prepare<[Uint8Array, number]>(`
    INSERT INTO withheld (multihash, status) VALUES (?, ?)
    ON CONFLICT (multihash) DO UPDATE SET status = excluded.status, applied = 0`)
  readonly #applied = this.db.prepare<[Uint8Array]>('UPDATE withheld SET applied = 1 WHERE multihash = ?')
  readonly #delete = this.db.prepare<[Uint8Array]>('DELETE FROM withheld WHERE multihash = ?')
  readonly #watch = this.db.prepare<[Uint8Array, Uint8Array]>(`
    INSERT OR IGNORE INTO withheld_links (multihash, carrier) VALUES (?, ?)`)
  readonly #unwatch = this.db.prepare<[Uint8Array, Uint8Array]>(`
    DELETE FROM withheld_links WHERE multihash = ? AND carrier = ?`)
  readonly #ownRoots = this.db.prepare<[Uint8Array, Uint8Array], { id: number }>(`
    SELECT id FROM roots WHERE multihash = ? AND state = 'complete' AND owner = 0
    UNION ALL SELECT id FROM roots WHERE multihash = ? AND state = 'complete' AND owner <> 0`)
  readonly #setBarred = this.db.prepare<[number, number]>('UPDATE roots SET barred = ? WHERE id = ?')
  readonly #raiseBarred = this.db.prepare<[number]>('UPDATE roots SET barred = 1 WHERE id = ? AND barred = 0')
  readonly #demandWalk = this.db.prepare<[number]>(`
    INSERT INTO reach_walks (root_id, due_at)
    SELECT id, CASE state WHEN 'staging' THEN ${Number.MAX_SAFE_INTEGER} ELSE 0 END FROM roots WHERE id = ?
    ON CONFLICT (root_id) DO UPDATE SET stage = 0, place = 0, due_at = excluded.due_at`)
  readonly #needing = this.db.prepare<[number, number, number, number], { id: number }>(`
    SELECT root_id AS id FROM root_blocks WHERE block_id = ? AND way = ? AND root_id > ? ORDER BY root_id LIMIT ?`)

  constructor(db: Database, blocks: BlockTable, queue: WriteQueue) {
    super(db)
    this.#queue = queue
    this.#blocks = blocks
  }

  get(multihash: Uint8Array): WithheldRow | undefined {
    return this.#get.get(multihash)
  }

  after(multihash: Uint8Array, limit: number): WithheldRow[] {
    return this.#after.all(multihash, limit)
  }

  /**
   * Stores takedowns and bars each root that needs one of the blocks, in short transactions. After a crash, the caller
   * repeats the call for rows whose `applied` is 0. The writes are not synced, because each start compares the rows
   * with the denylist file.
   */
  async apply(changes: readonly WithheldChange[]): Promise<void> {
    const begin = () => changes.filter(change => !this.#begin(change))
    const unfinished = await this.#queue.run(begin, { durable: false, patient: true })
    for (const change of unfinished) await this.#updateAllRoots(change)
  }

  /**
   * Stores a change and begins to update the roots that need the block. Returns whether all these roots are updated.
   */
  #begin(change: WithheldChange): boolean {
    const { multihash, status, carried } = change
    this.#put.run(multihash, status ?? 0)
    for (const { id } of this.#ownRoots.all(multihash, multihash)) {
      this.#setBarred.run(status ?? 1, id)
      this.#demandWalk.run(id)
    }
    this.#watchLinks(change)
    // An old identity CID can have hundreds of links, so later transactions update the roots of the linked blocks.
    const isUpdated = carried.length === 0 && this.#idsOf(change).every(id => this.#updateRoots(id, 0, status) === null)
    if (isUpdated) this.#finish(multihash, status)
    return isUpdated
  }

  /** Ensures that a root gets a walk if it later needs a block to which a taken down identity CID links. */
  #watchLinks({ multihash, status, carried }: WithheldChange): void {
    const carrier = createHash('sha256').update(multihash).digest()
    for (const link of carried) (status === null ? this.#unwatch : this.#watch).run(link, carrier)
  }

  #idsOf({ multihash, carried }: WithheldChange): number[] {
    return [multihash, ...carried].flatMap(one => this.#blocks.idsOf(one))
  }

  async #updateAllRoots(change: WithheldChange): Promise<void> {
    const { multihash, status } = change
    for (const id of this.#idsOf(change)) {
      for (let after: number | null = 0; after !== null; ) {
        const next: number = after
        after = await this.#queue.run(() => this.#updateRoots(id, next, status), { durable: false, patient: true })
      }
    }
    await this.#queue.run(() => this.#finish(multihash, status), { durable: false, patient: true })
  }

  /** Updates the next roots that need a block. Returns the last updated root, or null if no more roots follow. */
  #updateRoots(blockId: number, after: number, status: WithheldStatus | null): number | null {
    const roots = this.#blocks.everyWay(way => this.#needing.all(blockId, way, after, ROOTS_AT_ONCE), ROOTS_AT_ONCE)
    for (const { id } of roots) {
      if (status !== null) this.#raiseBarred.run(id)
      this.#demandWalk.run(id)
    }
    return roots.length < ROOTS_AT_ONCE ? null : (roots.at(-1)?.id ?? null)
  }

  #finish(multihash: Uint8Array, status: WithheldStatus | null): void {
    if (status === null) this.#delete.run(multihash)
    else this.#applied.run(multihash)
  }
}
