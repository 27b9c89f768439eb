import type { WriteQueue } from '../storage/write-queue.ts'
import type { BlockTable } from './block-table.ts'
import type { BlockRow, StoredBlock } from './blocks.ts'
import type { Holds } from './holds.ts'
import type { RootTable } from './root-table.ts'
import type { RootFile, WholeDag } from './whole-dag.ts'

/**
 * The answer to a claim:
 * - `stored`: the bytes went in with the claim;
 * - `present`: they were there, durable;
 * - `absent`: whoever claims must write them, or follow another who does;
 * - `deleting`: they are being deleted; claim again when that is over.
 */
export type ClaimOutcome = 'stored' | 'present' | 'healed' | 'absent' | 'deleting'

export interface Claim {
  outcome: ClaimOutcome
  blockId: number
  inline: boolean
  /** Whether the root needed this block for the first time. */
  added: boolean
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
  readonly #blocks: BlockTable
  readonly #roots: RootTable
  readonly #holds: Holds
  readonly #queue: WriteQueue

  constructor(blocks: BlockTable, roots: RootTable, holds: Holds, queue: WriteQueue) {
    this.#blocks = blocks
    this.#roots = roots
    this.#holds = holds
    this.#queue = queue
  }

  /** Starts a staging root. Returns its id. */
  stage(backendId: number, now: number): Promise<number> {
    return this.#queue.run(() => this.#roots.stage(backendId, now), { durable: false })
  }

  /** Turns a staged root complete under a hold. What is kept under the hold already stays as it is. */
  keep(
    hold: string,
    root: { backendId: number; stagedRootId: number; dag: WholeDag; ends: number | null },
  ): Promise<void> {
    const { backendId, stagedRootId, dag, ends } = root
    const work = (): void => {
      if (this.#holds.has(hold)) this.#roots.abandon(stagedRootId)
      else this.#holds.place(hold, this.#holds.complete(backendId, stagedRootId, dag), ends)
    }
    return this.#queue.run(work, { durable: true })
  }

  /** Releases a hold, if there is such a one. */
  letGo(hold: string): Promise<void> {
    const work = (): void => {
      this.#holds.release(hold)
    }
    return this.#queue.run(work, { durable: true })
  }

  /** Gives a root up unless it has been completed. */
  abandon(rootId: number): Promise<void> {
    return this.#queue.run(() => this.#roots.abandon(rootId), { durable: false })
  }

  /**
   * Claims a block for a root before its bytes are written. This is the only place where a write is skipped:
   * in the transaction that notes the root's need and sees the block durable.
   *
   * @param inline the bytes, if they are small enough to live in the database; null for a file
   */
  claim(rootId: number, backendId: number, multihash: Uint8Array, size: number, inline: Uint8Array | null) {
    return this.#queue.run(() => this.#claim(rootId, backendId, multihash, size, inline), { durable: false })
  }

  #claim(rootId: number, backendId: number, multihash: Uint8Array, size: number, inline: Uint8Array | null): Claim {
    const found = this.#blocks.find(backendId, multihash)
    if (found === undefined) {
      const blockId = this.#blocks.insert(
        backendId,
        multihash,
        size,
        inline === null ? 'writing' : 'durable',
        inline ? 1 : 0,
      )
      if (inline !== null) this.#blocks.putBytes(blockId, inline)
      const added = this.#blocks.need(rootId, blockId)
      return { outcome: inline === null ? 'absent' : 'stored', blockId, inline: inline !== null, added }
    }
    const claim = { blockId: found.id, inline: found.inline === 1 }
    if (found.state === 'deleting') return { ...claim, outcome: 'deleting', added: false }
    const added = this.#blocks.need(rootId, found.id)
    if (claim.inline && inline !== null && this.#heal(found, inline)) return { ...claim, outcome: 'healed', added }
    if (found.state === 'writing') return { ...claim, outcome: 'absent', added }
    return { ...claim, outcome: 'present', added }
  }

  /** Puts right the bytes of an inline block if they are not what they should be. */
  #heal({ id, state }: BlockRow, bytes: Uint8Array): boolean {
    const stored = this.#blocks.bytes(id)
    if (stored !== undefined && Buffer.compare(stored, bytes) === 0) return false
    this.#blocks.putBytes(id, bytes)
    if (state === 'writing') this.#blocks.setState(id, 'durable')
    return true
  }

  /**
   * Notes that durable blocks are lost: whoever claims one from now on writes it anew. What needs them keeps needing
   * them. Returns those that were durable until now.
   */
  lose(blockIds: readonly number[]): Promise<number[]> {
    return this.#queue.run(
      () =>
        blockIds.filter(id => {
          const block = this.#blocks.get(id)
          if (block?.state !== 'durable') return false
          this.#blocks.setState(id, 'writing')
          if (block.inline === 1) this.#blocks.dropBytes(id)
          return true
        }),
      { durable: true },
    )
  }

  /**
   * Claims, for a root, a block that some complete root already needs. Null if there is none such on the backend.
   */
  adopt(rootId: number, backendId: number, multihash: Uint8Array): Promise<{ size: number; added: boolean } | null> {
    return this.#queue.run(
      () => {
        const found = this.#blocks.find(backendId, multihash)
        if (found?.state !== 'durable') return null
        return { size: found.size, added: this.#blocks.need(rootId, found.id) }
      },
      { durable: false },
    )
  }

  /** Notes that the bytes of these blocks and their directory entries are on the disk. */
  markDurable(blockIds: readonly number[]): Promise<void> {
    return this.#queue.run(
      () => {
        for (const id of blockIds) this.#blocks.setState(id, 'durable')
      },
      { durable: false },
    )
  }

  addFiles(rootId: number, position: number, files: readonly RootFile[]): Promise<void> {
    return this.#queue.run(
      () => {
        for (const [index, file] of files.entries()) this.#roots.addFile(rootId, position + index, file)
      },
      { durable: false },
    )
  }

  /** Makes the files of one staged root those of another. */
  async moveFiles(fromRootId: number, toRootId: number): Promise<void> {
    const moveBatch = () => this.#roots.moveFiles(fromRootId, toRootId, RELEASE_BATCH)
    while ((await this.#queue.run(moveBatch, { durable: false })) > 0) {}
  }

  async clearFiles(rootId: number): Promise<void> {
    const clearBatch = () => this.#roots.deleteFiles(rootId, RELEASE_BATCH)
    while ((await this.#queue.run(clearBatch, { durable: false })) > 0) {}
  }

  /** Gives up what an earlier process left unfinished. Cost does not grow with the store. */
  recover(): Promise<StoredBlock[]> {
    return this.#queue.run(
      () => {
        this.#roots.dropStaging()
        return this.#blocks.deleting()
      },
      { durable: true },
    )
  }

  /** Blocks whose files are being removed, or were to be and could not. */
  deleting(): StoredBlock[] {
    return this.#blocks.deleting()
  }

  /** Some of the dropped roots up to an id whose rows still have to be released, except those in `leased`. */
  droppedRoots(leased: ReadonlySet<number>, upTo: number): number[] {
    return this.#roots.dropped(upTo, 64 + leased.size).filter(id => !leased.has(id))
  }

  /** The id of the newest root. */
  lastRoot(): number {
    return this.#roots.lastId()
  }

  /**
   * Releases one batch of a dropped root's blocks; those that no other root needs become garbage.
   * Returns whether the root is gone.
   */
  releaseBatch(rootId: number, now: number): Promise<boolean> {
    return this.#queue.run(
      () => {
        const blockIds = this.#blocks.neededBy(rootId, RELEASE_BATCH)
        for (const blockId of blockIds) {
          this.#blocks.release(rootId, blockId)
          if (!this.#blocks.isNeeded(blockId)) this.#blocks.addGarbage(blockId, now)
        }
        if (blockIds.length > 0) return false
        if (this.#roots.deleteFiles(rootId, RELEASE_BATCH) > 0) return false
        this.#roots.delete(rootId)
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
    const nextBatch = () => this.#blocks.garbage(freedBy, now, DELETE_BATCH)
    const takeRows = () => {
      const batch = nextBatch()
      const rows = this.#unneeded(batch.filter(block => block.inline === 1))
      for (const { id } of rows) this.#blocks.delete(id)
      return { rows, hasFiles: batch.some(block => block.inline === 0), more: batch.length === DELETE_BATCH }
    }
    const takeFiles = () => {
      const files = this.#unneeded(nextBatch().filter(block => block.inline === 0))
      for (const { id } of files) this.#blocks.setState(id, 'deleting')
      return files
    }
    const { rows, hasFiles, more } = await this.#queue.run(takeRows, { durable: false })
    const files = hasFiles ? await this.#queue.run(takeFiles, { durable: true }) : []
    const taken = [...rows, ...files]
    return { files, blocks: taken.length, bytes: taken.reduce((sum, { size }) => sum + size, 0), more }
  }

  /** Takes blocks out of the garbage. Returns those of them that no root needs. */
  #unneeded(blocks: readonly StoredBlock[]): StoredBlock[] {
    for (const { id } of blocks) this.#blocks.dropGarbage(id)
    return blocks.filter(({ id }) => !this.#blocks.isNeeded(id))
  }

  /** Takes up blocks whose files nobody has claimed, as `deleting`; those that somebody has claimed are left out. */
  claimStrays(backendId: number, multihashes: readonly Uint8Array[]): Promise<StoredBlock[]> {
    return this.#queue.run(
      () =>
        multihashes.flatMap(multihash => {
          if (this.#blocks.find(backendId, multihash) !== undefined) return []
          const id = this.#blocks.insert(backendId, multihash, 0, 'deleting', 0)
          return [{ id, backendId, multihash, size: 0, state: 'deleting' as const, inline: 0 as const }]
        }),
      { durable: true },
    )
  }

  /** Forgets blocks whose files are gone. */
  deleted(blockIds: readonly number[]): Promise<void> {
    return this.#queue.run(
      () => {
        for (const id of blockIds) this.#blocks.delete(id)
      },
      { durable: false },
    )
  }
}
