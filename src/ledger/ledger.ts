import { turnSpent } from '../concurrency/turns.ts'
import type { DagIdentity } from '../ipld/cid.ts'
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

/** Maximum number of rows of dropped roots that one transaction releases. */
const RELEASE_BATCH = 100
/**
 * Maximum number of deletions that one transaction starts. The transaction ends earlier if the turn of the event loop
 * is spent.
 */
const DELETE_BATCH = 128

/**
 * The roots and blocks of the node. A block is garbage if and only if no root needs it. Each file has a row before the
 * file is written. All writes share commits.
 */
export class Ledger {
  readonly claims: Claims
  readonly #parts: LedgerParts

  constructor(parts: LedgerParts) {
    this.claims = parts.claims
    this.#parts = parts
  }

  stage(backendId: number, now: number): Promise<number> {
    return this.#parts.queue.run(() => this.#parts.roots.stage(backendId, now), { durable: false })
  }

  /**
   * Completes a staged root and places a hold on it. If a hold with this id already exists, abandons the staged root
   * instead.
   */
  keep(
    hold: string,
    root: { backendId: number; stagedRootId: number; dag: WholeDag; ends: number | null },
  ): Promise<void> {
    const { backendId, stagedRootId, dag, ends } = root
    const work = (): void => {
      if (this.#parts.holds.has(hold)) this.#parts.roots.abandon(stagedRootId)
      else this.#parts.holds.place(hold, this.#parts.holds.complete(backendId, stagedRootId, dag).id, ends)
    }
    return this.#parts.queue.run(work, { durable: true })
  }

  /** Does nothing if the hold does not exist. */
  release(hold: string): Promise<void> {
    const work = (): void => {
      this.#parts.holds.release(hold)
    }
    return this.#parts.queue.run(work, { durable: true })
  }

  abandon(rootId: number): Promise<void> {
    return this.#parts.queue.run(() => this.#parts.roots.abandon(rootId), { durable: false })
  }

  /** Closes the blocks of a root to strangers, in steps. Call this before the root completes as one of an account. */
  async close(rootId: number): Promise<void> {
    for (let after: number | null = 0; after !== null; ) {
      const place: number = after
      after = await this.#parts.queue.run(() => this.claims.close(rootId, place), { durable: false })
    }
  }

  /**
   * Stores since when the external backend has had all blocks of a staged root. Null means that the backend does not
   * have them.
   */
  setPlaced(rootId: number, at: number | null): Promise<void> {
    return this.#parts.queue.run(() => this.#parts.roots.setPlaced(rootId, at), { durable: true })
  }

  addFiles(rootId: number, position: number, files: readonly RootFile[]): Promise<void> {
    return this.#parts.queue.run(
      () => {
        for (const [index, file] of files.entries()) this.#parts.roots.addFile(rootId, position + index, file)
      },
      { durable: false },
    )
  }

  files(rootId: number, offset: number, limit: number): RootFile[] {
    return this.#parts.roots.files(rootId, offset, limit)
  }

  neededAfter(rootId: number, id: number, limit: number): StoredBlock[] {
    return this.#parts.blocks.neededAfter(rootId, id, limit)
  }

  /** Returns whether a root has claimed a block. Ignores the states of both. */
  hasClaimed(rootId: number, backendId: number, multihash: Uint8Array): boolean {
    const found = this.#parts.blocks.find(backendId, multihash)
    return found !== undefined && this.#parts.blocks.isNeededBy(rootId, found.id)
  }

  async moveFiles(fromRootId: number, toRootId: number): Promise<void> {
    const moveBatch = () => this.#parts.roots.moveFiles(fromRootId, toRootId, RELEASE_BATCH)
    while ((await this.#parts.queue.run(moveBatch, { durable: false })) > 0) {}
  }

  async clearFiles(rootId: number): Promise<void> {
    const clearBatch = () => this.#parts.roots.deleteFiles(rootId, RELEASE_BATCH)
    while ((await this.#parts.queue.run(clearBatch, { durable: false })) > 0) {}
  }

  /**
   * Drops the unfinished roots of an earlier process. Returns the blocks in state `deleting`. The cost does not depend
   * on the size of the store.
   */
  recover(): Promise<StoredBlock[]> {
    return this.#parts.queue.run(
      () => {
        this.#parts.roots.dropStaging()
        return this.#parts.blocks.deleting()
      },
      { durable: true },
    )
  }

  /** Returns the blocks whose files are being deleted or could not be deleted. */
  deleting(): StoredBlock[] {
    return this.#parts.blocks.deleting()
  }

  /**
   * Returns some dropped roots with ids up to `upTo`, without leased roots. Reads the leases after the roots, because
   * readers in other threads acquire a lease before they check the root.
   */
  droppedRoots(leased: () => ReadonlySet<number>, upTo: number): number[] {
    const dropped = this.#parts.roots.dropped(upTo, 64 + leased().size)
    const held = leased()
    return dropped.filter(id => !held.has(id))
  }

  lastRoot(): number {
    return this.#parts.roots.lastId()
  }

  /**
   * Releases one batch of rows of dropped roots. Blocks that no other root needs become garbage. Returns the number of
   * roots whose rows are all released.
   */
  releaseBatch(rootIds: readonly number[], now: number): Promise<number> {
    const work = (): number => {
      let rows = RELEASE_BATCH
      let gone = 0
      for (const rootId of rootIds) {
        rows -= this.#releaseRoot(rootId, rows, now)
        if (rows <= 0) break
        gone++
        if (turnSpent()) break
      }
      return gone
    }
    return this.#parts.queue.run(work, { durable: false })
  }

  /** Releases up to `most` rows of a root, and returns their number. If fewer rows were left, deletes the root too. */
  #releaseRoot(rootId: number, most: number, now: number): number {
    const { blocks, roots } = this.#parts
    const blockIds = blocks.neededBy(rootId, most)
    for (const blockId of blockIds) {
      blocks.release(rootId, blockId)
      if (!blocks.isNeeded(blockId)) blocks.addGarbage(blockId, now)
    }
    const left = most - blockIds.length
    const files = left > 0 ? roots.deleteFiles(rootId, left) : 0
    if (files < left) roots.delete(rootId)
    return blockIds.length + files
  }

  /**
   * Removes a batch of blocks from the garbage. Inline blocks are deleted immediately. Other blocks get the state
   * `deleting`: the caller deletes their files and then calls {@link deleted}. After a power cut, deleted inline blocks
   * may be garbage again.
   */
  async takeGarbage(
    freedBy: number,
    now: number,
  ): Promise<{ files: StoredBlock[]; blocks: number; bytes: number; more: boolean }> {
    const nextBatch = () => this.#parts.blocks.garbage(freedBy, now, DELETE_BATCH)
    const takeRows = () => {
      const batch = nextBatch()
      const rows: StoredBlock[] = []
      let looked = 0
      for (const block of batch) {
        looked++
        if (block.inline === 0) continue
        for (const { id } of this.#unneeded([block])) {
          this.#parts.blocks.delete(id)
          rows.push(block)
        }
        if (turnSpent()) break
      }
      const more = batch.length === DELETE_BATCH || looked < batch.length
      return { rows, hasFiles: batch.some(block => block.inline === 0), more }
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

  #unneeded(blocks: readonly StoredBlock[]): StoredBlock[] {
    for (const { id } of blocks) this.#parts.blocks.dropGarbage(id)
    return blocks.filter(({ id }) => !this.#parts.blocks.isNeeded(id))
  }

  deleted(blockIds: readonly number[]): Promise<void> {
    return this.#parts.queue.run(
      () => {
        for (const id of blockIds) this.#parts.blocks.delete(id)
      },
      { durable: false },
    )
  }

  /** Marks DAGs as confirmed: a check that began at `began` found these DAGs on their external backends. */
  async confirm(dags: ReadonlyArray<DagIdentity & { backendId: number }>, began: number): Promise<void> {
    const ids = dags.flatMap(dag => this.#parts.roots.unconfirmed(dag.backendId, dag))
    if (ids.length === 0) return
    const confirm = (): void => {
      for (const id of ids) this.#parts.roots.confirm(id, began)
    }
    await this.#parts.queue.run(confirm, { durable: false })
  }
}
