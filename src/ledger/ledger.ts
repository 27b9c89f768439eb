import type { WriteQueue } from '../storage/write-queue.ts'
import type { BlockTable } from './block-table.ts'
import type { StoredBlock } from './blocks.ts'
import type { Claims } from './claims.ts'
import type { Holds } from './holds.ts'
import type { RootTable } from './root-table.ts'
import type { RootFile, WholeDag } from './whole-dag.ts'

export interface LedgerParts {
  claims: Claims
  blocks: BlockTable
  roots: RootTable
  holds: Holds
  queue: WriteQueue
}

/** Rows of a dropped root that one transaction releases. */
const RELEASE_BATCH = 100
/** Blocks that one transaction starts to delete. */
const DELETE_BATCH = 128

/**
 * What the node knows of roots and blocks. SQLite is the truth: a block is garbage exactly when no root needs it,
 * and no file is written before a row claims it. All writes are asynchronous and commit in groups.
 */
export class Ledger {
  /** What is written of single blocks: their claims, and what becomes of them. */
  readonly claims: Claims
  readonly #parts: LedgerParts

  constructor(parts: LedgerParts) {
    this.claims = parts.claims
    this.#parts = parts
  }

  /** Starts a staging root. Returns its id. */
  stage(backendId: number, now: number): Promise<number> {
    return this.#parts.queue.run(() => this.#parts.roots.stage(backendId, now), { durable: false })
  }

  /** Turns a staged root complete under a hold. What is kept under the hold already stays as it is. */
  keep(
    hold: string,
    root: { backendId: number; stagedRootId: number; dag: WholeDag; ends: number | null },
  ): Promise<void> {
    const { backendId, stagedRootId, dag, ends } = root
    const work = (): void => {
      if (this.#parts.holds.has(hold)) this.#parts.roots.abandon(stagedRootId)
      else this.#parts.holds.place(hold, this.#parts.holds.complete(backendId, stagedRootId, dag), ends)
    }
    return this.#parts.queue.run(work, { durable: true })
  }

  /** Releases a hold, if there is such a one. */
  letGo(hold: string): Promise<void> {
    const work = (): void => {
      this.#parts.holds.release(hold)
    }
    return this.#parts.queue.run(work, { durable: true })
  }

  /** Gives a root up unless it has been completed. */
  abandon(rootId: number): Promise<void> {
    return this.#parts.queue.run(() => this.#parts.roots.abandon(rootId), { durable: false })
  }

  addFiles(rootId: number, position: number, files: readonly RootFile[]): Promise<void> {
    return this.#parts.queue.run(
      () => {
        for (const [index, file] of files.entries()) this.#parts.roots.addFile(rootId, position + index, file)
      },
      { durable: false },
    )
  }

  /** Makes the files of one staged root those of another. */
  async moveFiles(fromRootId: number, toRootId: number): Promise<void> {
    const moveBatch = () => this.#parts.roots.moveFiles(fromRootId, toRootId, RELEASE_BATCH)
    while ((await this.#parts.queue.run(moveBatch, { durable: false })) > 0) {}
  }

  async clearFiles(rootId: number): Promise<void> {
    const clearBatch = () => this.#parts.roots.deleteFiles(rootId, RELEASE_BATCH)
    while ((await this.#parts.queue.run(clearBatch, { durable: false })) > 0) {}
  }

  /** Gives up what an earlier process left unfinished. Cost does not grow with the store. */
  recover(): Promise<StoredBlock[]> {
    return this.#parts.queue.run(
      () => {
        this.#parts.roots.dropStaging()
        return this.#parts.blocks.deleting()
      },
      { durable: true },
    )
  }

  /** Blocks whose files are being removed, or were to be and could not. */
  deleting(): StoredBlock[] {
    return this.#parts.blocks.deleting()
  }

  /**
   * Some of the dropped roots up to an id whose rows still have to be released, except those that are leased: the leases
   * are read once the roots are known to be dropped, since readers in other threads look the other way round.
   */
  droppedRoots(leased: () => ReadonlySet<number>, upTo: number): number[] {
    const dropped = this.#parts.roots.dropped(upTo, 64 + leased().size)
    const held = leased()
    return dropped.filter(id => !held.has(id))
  }

  /** The id of the newest root. */
  lastRoot(): number {
    return this.#parts.roots.lastId()
  }

  /**
   * Releases one batch of a dropped root's blocks; those that no other root needs become garbage.
   * Returns whether the root is gone.
   */
  releaseBatch(rootId: number, now: number): Promise<boolean> {
    return this.#parts.queue.run(
      () => {
        const blockIds = this.#parts.blocks.neededBy(rootId, RELEASE_BATCH)
        for (const blockId of blockIds) {
          this.#parts.blocks.release(rootId, blockId)
          if (!this.#parts.blocks.isNeeded(blockId)) this.#parts.blocks.addGarbage(blockId, now)
        }
        if (blockIds.length > 0) return false
        if (this.#parts.roots.deleteFiles(rootId, RELEASE_BATCH) > 0) return false
        this.#parts.roots.delete(rootId)
        return true
      },
      { durable: false },
    )
  }

  /**
   * Takes a batch out of the garbage. Blocks in the database are gone with this; the rest are now `deleting` and
   * the caller removes their files, then calls {@link deleted}. Only the latter are worth a sync: rows that a power
   * cut brings back are still garbage.
   */
  async takeGarbage(
    freedBy: number,
    now: number,
  ): Promise<{ files: StoredBlock[]; blocks: number; bytes: number; more: boolean }> {
    const nextBatch = () => this.#parts.blocks.garbage(freedBy, now, DELETE_BATCH)
    const takeRows = () => {
      const batch = nextBatch()
      const rows = this.#unneeded(batch.filter(block => block.inline === 1))
      for (const { id } of rows) this.#parts.blocks.delete(id)
      return { rows, hasFiles: batch.some(block => block.inline === 0), more: batch.length === DELETE_BATCH }
    }
    const takeFiles = () => {
      const files = this.#unneeded(nextBatch().filter(block => block.inline === 0))
      for (const { id } of files) this.claims.setState(id, 'deleting')
      return files
    }
    const { rows, hasFiles, more } = await this.#parts.queue.run(takeRows, { durable: false })
    const files = hasFiles ? await this.#parts.queue.run(takeFiles, { durable: true }) : []
    const taken = [...rows, ...files]
    return { files, blocks: taken.length, bytes: taken.reduce((sum, { size }) => sum + size, 0), more }
  }

  /** Takes blocks out of the garbage. Returns those of them that no root needs. */
  #unneeded(blocks: readonly StoredBlock[]): StoredBlock[] {
    for (const { id } of blocks) this.#parts.blocks.dropGarbage(id)
    return blocks.filter(({ id }) => !this.#parts.blocks.isNeeded(id))
  }

  /** Forgets blocks whose files are gone. */
  deleted(blockIds: readonly number[]): Promise<void> {
    return this.#parts.queue.run(
      () => {
        for (const id of blockIds) this.#parts.blocks.delete(id)
      },
      { durable: false },
    )
  }
}
