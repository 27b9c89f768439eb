import { HoldfastError } from '../domain/errors.ts'
import type { Database, Statement } from '../storage/database.ts'
import type { WriteQueue } from '../storage/write-queue.ts'
import { type BlockTable, FIND_BLOCK } from './block-table.ts'
import type { BlockRow, BlockState, NewBlock, StoredBlock } from './blocks.ts'

/**
 * The answer to a claim:
 * - `stored`: the bytes went in with the claim;
 * - `present`: they were there, durable;
 * - `healed`: they were there, damaged, and have been put right with the claim;
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

/** What is written of single blocks, each in a transaction: who needs them, and whether they are there. */
export class Claims {
  readonly #blocks: BlockTable
  readonly #queue: WriteQueue
  readonly #find: Statement<[Uint8Array, number], BlockRow>
  readonly #insert: Statement<[number, Uint8Array, number, BlockState, number], unknown>
  readonly #putBytes: Statement<[number, Uint8Array], unknown>
  readonly #dropBytes: Statement<[number], unknown>
  readonly #setState: Statement<[BlockState, number], unknown>
  readonly #need: Statement<[number, number], unknown>

  constructor(db: Database, blocks: BlockTable, queue: WriteQueue) {
    this.#blocks = blocks
    this.#queue = queue
    this.#find = db.prepare(FIND_BLOCK)
    this.#insert = db.prepare('INSERT INTO blocks (backend_id, multihash, size, state, inline) VALUES (?, ?, ?, ?, ?)')
    this.#putBytes = db.prepare('INSERT OR REPLACE INTO small_blocks (block_id, bytes) VALUES (?, ?)')
    this.#dropBytes = db.prepare('DELETE FROM small_blocks WHERE block_id = ?')
    this.#setState = db.prepare('UPDATE blocks SET state = ? WHERE id = ?')
    this.#need = db.prepare('INSERT OR IGNORE INTO root_blocks (root_id, block_id) VALUES (?, ?)')
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
    const added = this.#noteNeed(rootId, found.id)
    if (claim.inline && inline !== null && this.#heal(found, inline)) return { ...claim, outcome: 'healed', added }
    if (found.state === 'writing') return { ...claim, outcome: 'absent', added }
    return { ...claim, outcome: 'present', added }
  }

  /**
   * Claims a block that lives in the database, bytes and all. Part of a transaction of the caller's.
   *
   * @throws HoldfastError `UNAVAILABLE` for one that is, or was, in a file: whoever claims that has a file to look at
   */
  store(rootId: number, backendId: number, { multihash, bytes }: NewBlock): ClaimOutcome {
    const { outcome, inline } = this.#claim(rootId, backendId, multihash, bytes.length, bytes)
    if (inline && outcome !== 'absent' && outcome !== 'deleting') return outcome
    throw new HoldfastError('UNAVAILABLE', 'the block is being moved; try again')
  }

  /** Puts right a block in the database, if it is there, and damaged; returns whether it was. Part of a transaction. */
  mend(backendId: number, { multihash, bytes }: NewBlock): boolean {
    const found = this.#find.get(multihash, backendId)
    return found?.inline === 1 && this.#heal(found, bytes)
  }

  /** Puts right the bytes of an inline block if they are not what they should be. */
  #heal({ id, state }: BlockRow, bytes: Uint8Array): boolean {
    const stored = this.#blocks.bytes(id)
    if (stored !== undefined && Buffer.compare(stored, bytes) === 0) return false
    this.#putBytes.run(id, bytes)
    if (state === 'writing') this.setState(id, 'durable')
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
          this.setState(id, 'writing')
          if (block.inline === 1) this.#dropBytes.run(id)
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
        const found = this.#find.get(multihash, backendId)
        if (found?.state !== 'durable') return null
        return { size: found.size, added: this.#noteNeed(rootId, found.id) }
      },
      { durable: false },
    )
  }

  /**
   * Claims, for a root, a block that its backend has elsewhere, of which no bytes come here. Null if it is being written
   * or deleted here: then it has to come.
   *
   * @param size bytes, unless the block is known
   */
  note(
    rootId: number,
    backendId: number,
    multihash: Uint8Array,
    size: number,
  ): Promise<{ size: number; added: boolean } | null> {
    const work = () => {
      const found = this.#find.get(multihash, backendId)
      if (found !== undefined && found.state !== 'durable') return null
      const id = found?.id ?? Number(this.#insert.run(backendId, multihash, size, 'durable', 0).lastInsertRowid)
      return { size: found?.size ?? size, added: this.#noteNeed(rootId, id) }
    }
    return this.#queue.run(work, { durable: false })
  }

  /** Notes that the bytes of these blocks and their directory entries are on the disk. */
  markDurable(blockIds: readonly number[]): Promise<void> {
    return this.#queue.run(
      () => {
        for (const id of blockIds) this.setState(id, 'durable')
      },
      { durable: false },
    )
  }

  /** Takes up blocks whose files nobody has claimed, as `deleting`; those that somebody has claimed are left out. */
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

  /** Part of a transaction of the caller's. */
  setState(blockId: number, state: BlockState): void {
    this.#setState.run(state, blockId)
  }

  /** Notes that a root needs a block. False if that was known. */
  #noteNeed(rootId: number, blockId: number): boolean {
    return this.#need.run(rootId, blockId).changes === 1
  }
}
