import { HoldfastError } from '../domain/errors.ts'
import type { Database } from '../storage/database.ts'
import { WithStatements } from '../storage/with-statements.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { FIND_BLOCK } from './block-rows.ts'
import type { BlockTable } from './block-table.ts'
import type { BlockRow, BlockState, NewBlock, StoredBlock } from './blocks.ts'
import { Possessor, PUBLIC } from './possessor.ts'
import { PrivateWays } from './private-ways.ts'
import type { RootTable } from './root-table.ts'
import type { WholeDag } from './whole-dag.ts'

/**
 * The result of a claim:
 * - `stored`: the claim wrote the bytes to the database;
 * - `present`: the block is already durable;
 * - `healed`: the block was damaged, and the claim replaced its bytes;
 * - `absent`: the caller must write the bytes, or wait for another caller that writes them;
 * - `deleting`: the block is being deleted, and the caller must claim it again afterwards.
 */
/** `hidden`: only roots that the party may not use have the block, so its bytes are written as if it were absent. */
export type ClaimOutcome = 'stored' | 'present' | 'healed' | 'absent' | 'hidden' | 'deleting'

export interface Claim {
  outcome: ClaimOutcome
  blockId: number
  inline: boolean
  /** True if the root had not claimed the block before. */
  added: boolean
}

/** A complete root of one block. The sizes are those of the first commit of the DAG. */
export interface StoredRoot {
  rootId: number
  dagSize: number
  charge: number
  /** True if the bytes of the block were damaged, and are repaired. */
  healed: boolean
}

/** Changes single blocks: which roots need a block, and the state of the block. */
export class Claims extends WithStatements {
  readonly #blocks: BlockTable
  readonly #queue: WriteQueue
  readonly #find = this.db.prepare<[Uint8Array, number], BlockRow>(FIND_BLOCK)
  readonly #insert = this.db.prepare<[number, Uint8Array, number, BlockState, number]>(`
    INSERT INTO blocks (backend_id, multihash, size, state, inline) VALUES (?, ?, ?, ?, ?)`)
  readonly #putBytes = this.db.prepare<[number, Uint8Array]>(`
    INSERT OR REPLACE INTO small_blocks (block_id, bytes) VALUES (?, ?)`)
  readonly #dropBytes = this.db.prepare<[number]>('DELETE FROM small_blocks WHERE block_id = ?')
  // Toggles `inline`, because SQLite writes no page for an unchanged row. `#writeAnew` runs it twice.
  readonly #turn = this.db.prepare<[number]>(
    'UPDATE blocks SET multihash = multihash, inline = 1 - inline WHERE id = ?',
  )
  readonly #setState = this.db.prepare<[BlockState, number]>('UPDATE blocks SET state = ? WHERE id = ?')
  readonly #need = this.db.prepare<[number, number]>(`
    INSERT OR IGNORE INTO root_blocks (root_id, block_id) VALUES (?, ?)`)
  readonly #private: PrivateWays

  constructor(db: Database, blocks: BlockTable, queue: WriteQueue) {
    super(db)
    this.#blocks = blocks
    this.#queue = queue
    this.#private = new PrivateWays(db)
  }

  /**
   * Claims a block for a root before the bytes are written. One transaction adds the block to the root, and checks
   * whether the block is durable.
   *
   * @param inline the bytes, if they are small enough for the database; null if the bytes belong in a file
   * @param by returns the party that sends the block; undefined for the node itself
   */
  claim(
    rootId: number,
    backendId: number,
    multihash: Uint8Array,
    size: number,
    inline: Uint8Array | null,
    by?: () => Possessor,
  ): Promise<Claim> {
    return this.#queue.run(() => this.#claim(rootId, backendId, multihash, size, inline, by), { durable: false })
  }

  #claim(
    rootId: number,
    backendId: number,
    multihash: Uint8Array,
    size: number,
    inline: Uint8Array | null,
    by?: () => Possessor,
  ): Claim {
    const found = this.#find.get(multihash, backendId)
    if (found === undefined) {
      const state = inline === null ? 'writing' : 'durable'
      const blockId = Number(this.#insert.run(backendId, multihash, size, state, inline ? 1 : 0).lastInsertRowid)
      if (inline !== null) this.#putBytes.run(blockId, inline)
      const added = this.#noteNeed(rootId, blockId)
      return { outcome: inline === null ? 'absent' : 'stored', blockId, inline: inline !== null, added }
    }
    const claim = { blockId: found.id, inline: found.inline === 1 }
    if (found.state === 'deleting') return { ...claim, outcome: 'deleting', added: false }
    const isHidden = by !== undefined && found.state === 'durable' && !this.#mayUse(rootId, found.id, by())
    const added = this.#noteNeed(rootId, found.id)
    if (isHidden && claim.inline && inline !== null) {
      this.#writeAnew(found.id, inline)
      return { ...claim, outcome: 'stored', added }
    }
    if (claim.inline && inline !== null && this.#heal(found, inline)) return { ...claim, outcome: 'healed', added }
    if (found.state === 'writing') return { ...claim, outcome: 'absent', added }
    return { ...claim, outcome: isHidden && !claim.inline ? 'hidden' : 'present', added }
  }

  /**
   * Claims and writes an inline block within the caller's transaction.
   *
   * @throws HoldfastError `UNAVAILABLE` if the block has or had a file, because such a claim must check the file
   */
  store(rootId: number, backendId: number, { multihash, bytes }: NewBlock, by?: () => Possessor): ClaimOutcome {
    const { outcome, inline } = this.#claim(rootId, backendId, multihash, bytes.length, bytes, by)
    if (inline && outcome !== 'absent' && outcome !== 'deleting') return outcome
    throw new HoldfastError('UNAVAILABLE', 'the block is being moved; try again')
  }

  /**
   * Stores a DAG of one block as a complete root, within the caller's transaction. The caller places a hold in the same
   * transaction.
   *
   * @throws the error of {@link store}
   */
  storeRoot(roots: RootTable, backendId: number, dag: WholeDag, block: NewBlock, now: number): StoredRoot {
    const found = roots.find(backendId, dag, dag.owner)
    const rootId = found?.id ?? roots.insert(backendId, dag, now)
    const { dagSize, charge } = found ?? dag
    const by = () => new Possessor(dag.owner, { now: () => now })
    const healed = this.store(rootId, backendId, block, found === undefined ? by : undefined) === 'healed'
    if (dag.owner !== PUBLIC) this.close(rootId, 0)
    return { rootId, dagSize, charge, healed }
  }

  /**
   * Closes the next blocks of a root to strangers, within the caller's transaction. Returns the id of the last one, or
   * null if none is left.
   */
  close(rootId: number, after: number): number | null {
    return this.#private.close(rootId, after)
  }

  /** Repairs an inline block within the caller's transaction. Returns whether the block was damaged. */
  mend(backendId: number, { multihash, bytes }: NewBlock): boolean {
    const found = this.#find.get(multihash, backendId)
    return found?.inline === 1 && this.#heal(found, bytes)
  }

  /** Writes the same pages as for a new block, so that no sender learns that only others have it. */
  #writeAnew(id: number, bytes: Uint8Array): void {
    this.#turn.run(id)
    this.#turn.run(id)
    this.#dropBytes.run(id)
    this.#putBytes.run(id, bytes)
  }

  /** Replaces the bytes of an inline block if they differ from `bytes`. Returns whether they differed. */
  #heal({ id, state }: BlockRow, bytes: Uint8Array): boolean {
    const stored = this.#blocks.bytes(id)
    if (stored !== undefined && Buffer.compare(stored, bytes) === 0) return false
    this.#putBytes.run(id, bytes)
    if (state === 'writing') this.setState(id, 'durable')
    return true
  }

  /**
   * Marks durable blocks as lost, so that the next claim writes their bytes again. Roots still need the blocks. Returns
   * the ids of the blocks that were durable.
   */
  lose(blockIds: readonly number[]): Promise<number[]> {
    return this.#queue.run(
      () =>
        blockIds.filter(id => {
          const block = this.#blocks.get(id)
          if (block?.state !== 'durable') return false
          this.setState(id, 'writing')
          if (block.inline === 1) this.#dropBytes.run(id)
          return true
        }),
      { durable: true },
    )
  }

  /**
   * Claims a stored block for a root without its bytes. Returns null unless the block is durable on the
   * backend, and the root has claimed it before or the possessor may use it.
   */
  adopt(
    rootId: number,
    backendId: number,
    multihash: Uint8Array,
    by: Possessor,
  ): Promise<{ size: number; added: boolean } | null> {
    return this.#queue.run(
      () => {
        const found = this.#find.get(multihash, backendId)
        if (found?.state !== 'durable' || !this.#mayUse(rootId, found.id, by)) return null
        return { size: found.size, added: this.#noteNeed(rootId, found.id) }
      },
      { durable: false },
    )
  }

  /**
   * Claims a block for a root without its bytes, which stay on the external backend. Returns null if this node is
   * writing or deleting the block, or knows it only from roots that the possessor may not use. The caller must then
   * fetch the block.
   *
   * @param size size in bytes; ignored if the block is already known
   */
  note(
    rootId: number,
    backendId: number,
    multihash: Uint8Array,
    size: number,
    by: Possessor,
  ): Promise<{ size: number; added: boolean } | null> {
    const work = () => {
      const found = this.#find.get(multihash, backendId)
      if (found !== undefined && (found.state !== 'durable' || !this.#mayUse(rootId, found.id, by))) return null
      const id = found?.id ?? Number(this.#insert.run(backendId, multihash, size, 'durable', 0).lastInsertRowid)
      return { size: found?.size ?? size, added: this.#noteNeed(rootId, id) }
    }
    return this.#queue.run(work, { durable: false })
  }

  /** Marks blocks as durable. The caller must have synced their files and directory entries. */
  markDurable(blockIds: readonly number[]): Promise<void> {
    return this.#queue.run(
      () => {
        for (const id of blockIds) this.setState(id, 'durable')
      },
      { durable: false },
    )
  }

  /** Adds rows in state `deleting` for stray files, and returns them. Leaves out blocks that already have a row. */
  claimStrays(backendId: number, multihashes: readonly Uint8Array[]): Promise<StoredBlock[]> {
    return this.#queue.run(
      () =>
        multihashes.flatMap(multihash => {
          if (this.#find.get(multihash, backendId) !== undefined) return []
          const id = Number(this.#insert.run(backendId, multihash, 0, 'deleting', 0).lastInsertRowid)
          return [{ id, backendId, multihash, size: 0, state: 'deleting' as const, inline: 0 as const }]
        }),
      { durable: true },
    )
  }

  setState(blockId: number, state: BlockState): void {
    this.#setState.run(state, blockId)
  }

  #mayUse(rootId: number, blockId: number, by: Possessor): boolean {
    return this.#blocks.isNeededBy(rootId, blockId) || this.#blocks.isPossessed(blockId, by)
  }

  /** Returns false if the root already needed the block. */
  #noteNeed(rootId: number, blockId: number): boolean {
    return this.#need.run(rootId, blockId).changes === 1
  }
}
