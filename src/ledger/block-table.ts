import type { Database, Statement } from '../storage/database.ts'
import type { BlockRow, Blocks, HeldBlock, StoredBlock } from './blocks.ts'

const COLUMNS = 'b.id, b.size, b.state, b.inline'

/** A block of a backend, by its multihash and the backend's id. */
export const FIND_BLOCK = `SELECT ${COLUMNS} FROM blocks b WHERE b.multihash = ? AND b.backend_id = ?`

/** The rows of `blocks`, `small_blocks`, `root_blocks` and `garbage`. Every method is one or two statements. */
export class BlockTable implements Blocks {
  readonly #find: Statement<[Uint8Array, number], BlockRow>
  readonly #get: Statement<[number], BlockRow>
  readonly #findLive: Statement<[Uint8Array, number, number], HeldBlock>
  readonly #backendsOf: Statement<[Uint8Array], { backendId: number }>
  readonly #idsOf: Statement<[Uint8Array], { id: number }>
  readonly #bytes: Statement<[number], { bytes: Uint8Array }>
  readonly #delete: Statement<[number], unknown>
  readonly #deleteBytes: Statement<[number], unknown>
  readonly #isNeeded: Statement<[number], unknown>
  readonly #isNeededBy: Statement<[number, number], unknown>
  readonly #neededBy: Statement<[number, number], { blockId: number }>
  readonly #neededAfter: Statement<[number, number, number], StoredBlock>
  readonly #release: Statement<[number, number], unknown>
  readonly #addGarbage: Statement<[number, number], unknown>
  readonly #dropGarbage: Statement<[number], unknown>
  readonly #garbage: Statement<[number, number], StoredBlock>
  readonly #garbageAhead: Statement<[number, number], StoredBlock>
  readonly #durableAfter: Statement<[number, number], StoredBlock>
  readonly #completeRootsOf: Statement<[number, number, number], { id: number; codec: number; multihash: Uint8Array }>
  readonly #deleting: Statement<[], StoredBlock>
  readonly #isLostFrom: Statement<[number], unknown>

  constructor(db: Database) {
    this.#find = db.prepare(FIND_BLOCK)
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM blocks b WHERE b.id = ?`)
    this.#findLive = db.prepare(`
      SELECT ${COLUMNS}, b.backend_id AS backendId, r.id AS rootId, r.live_until AS liveUntil
      FROM blocks b JOIN root_blocks rb ON rb.block_id = b.id JOIN roots r ON r.id = rb.root_id
      WHERE b.multihash = ? AND b.backend_id = ? AND r.state = 'complete' AND (r.live_until IS NULL OR r.live_until > ?)
      LIMIT 1`)
    this.#backendsOf = db.prepare('SELECT backend_id AS backendId FROM blocks WHERE multihash = ? ORDER BY backend_id')
    this.#idsOf = db.prepare('SELECT id FROM blocks WHERE multihash = ?')
    this.#bytes = db.prepare('SELECT bytes FROM small_blocks WHERE block_id = ?')
    this.#delete = db.prepare('DELETE FROM blocks WHERE id = ?')
    this.#deleteBytes = db.prepare('DELETE FROM small_blocks WHERE block_id = ?')
    this.#isNeeded = db.prepare('SELECT 1 FROM root_blocks WHERE block_id = ? LIMIT 1')
    this.#isNeededBy = db.prepare('SELECT 1 FROM root_blocks WHERE root_id = ? AND block_id = ?')
    this.#neededBy = db.prepare('SELECT block_id AS blockId FROM root_blocks WHERE root_id = ? LIMIT ?')
    this.#release = db.prepare('DELETE FROM root_blocks WHERE root_id = ? AND block_id = ?')
    this.#addGarbage = db.prepare(`
      INSERT INTO garbage (block_id, freed_at) VALUES (?, ?)
      ON CONFLICT (block_id) DO UPDATE SET freed_at = excluded.freed_at`)
    this.#dropGarbage = db.prepare('DELETE FROM garbage WHERE block_id = ?')
    const storedColumns = `${COLUMNS}, b.backend_id AS backendId, b.multihash`
    this.#garbage = db.prepare(`
      SELECT ${storedColumns} FROM garbage g JOIN blocks b ON b.id = g.block_id
      WHERE g.freed_at <= ? ORDER BY g.freed_at LIMIT ?`)
    this.#garbageAhead = db.prepare(`
      SELECT ${storedColumns} FROM garbage g JOIN blocks b ON b.id = g.block_id
      WHERE g.freed_at > ? ORDER BY g.freed_at LIMIT ?`)
    this.#neededAfter = db.prepare(`
      SELECT ${storedColumns} FROM root_blocks rb JOIN blocks b ON b.id = rb.block_id
      WHERE rb.root_id = ? AND rb.block_id > ? ORDER BY rb.block_id LIMIT ?`)
    this.#durableAfter = db.prepare(`
      SELECT ${storedColumns} FROM blocks b
      WHERE b.id > ? AND (b.state = 'durable' OR (b.state = 'writing' AND EXISTS (
        SELECT 1 FROM root_blocks rb JOIN roots r ON r.id = rb.root_id
        WHERE rb.block_id = b.id AND r.state = 'complete')))
      ORDER BY b.id LIMIT ?`)
    this.#completeRootsOf = db.prepare(`
      SELECT r.id, r.codec, r.multihash FROM root_blocks rb JOIN roots r ON r.id = rb.root_id
      WHERE rb.block_id = ? AND rb.root_id > ? AND r.state = 'complete' ORDER BY rb.root_id LIMIT ?`)
    this.#deleting = db.prepare(`SELECT ${storedColumns} FROM blocks b WHERE b.state = 'deleting'`)
    this.#isLostFrom = db.prepare(`
      SELECT 1 FROM blocks b INDEXED BY blocks_writing JOIN root_blocks rb ON rb.block_id = b.id
      WHERE b.state = 'writing' AND rb.root_id = ? LIMIT 1`)
  }

  find(backendId: number, multihash: Uint8Array): BlockRow | undefined {
    return this.#find.get(multihash, backendId)
  }

  get(blockId: number): BlockRow | undefined {
    return this.#get.get(blockId)
  }

  /**
   * The block as some record that is live at `now` needs it, on whichever backend.
   *
   * @param last backends that are looked at after all others
   */
  findLive(multihash: Uint8Array, now: number, last: ReadonlySet<number>): HeldBlock | undefined {
    const backends = this.#backendsOf.all(multihash)
    const inOrder = [...backends.filter(b => !last.has(b.backendId)), ...backends.filter(b => last.has(b.backendId))]
    for (const { backendId } of inOrder) {
      const live = this.#findLive.get(multihash, backendId, now)
      if (live !== undefined) return live
    }
    return undefined
  }

  bytes(blockId: number): Uint8Array | undefined {
    return this.#bytes.get(blockId)?.bytes
  }

  /** The ids of a block, one for each backend that has it. */
  idsOf(multihash: Uint8Array): number[] {
    return this.#idsOf.all(multihash).map(({ id }) => id)
  }

  delete(blockId: number): void {
    this.#deleteBytes.run(blockId)
    this.#delete.run(blockId)
  }

  isNeeded(blockId: number): boolean {
    return this.#isNeeded.get(blockId) !== undefined
  }

  /** Whether one root needs a block, in whatever state it is. */
  isNeededBy(rootId: number, blockId: number): boolean {
    return this.#isNeededBy.get(rootId, blockId) !== undefined
  }

  /** Some of the blocks that a root needs, at most `limit`. */
  neededBy(rootId: number, limit: number): number[] {
    return this.#neededBy.all(rootId, limit).map(row => row.blockId)
  }

  /** The next blocks by id that a root needs, to go through all of them. */
  neededAfter(rootId: number, id: number, limit: number): StoredBlock[] {
    return this.#neededAfter.all(rootId, id, limit)
  }

  release(rootId: number, blockId: number): void {
    this.#release.run(rootId, blockId)
  }

  addGarbage(blockId: number, freedAt: number): void {
    this.#addGarbage.run(blockId, freedAt)
  }

  dropGarbage(blockId: number): void {
    this.#dropGarbage.run(blockId)
  }

  /**
   * The longest freed blocks first, of those freed at or before `freedBy`; then those freed later than `now`, by a
   * clock that was ahead: nobody knows how long ago that was.
   */
  garbage(freedBy: number, now: number, limit: number): StoredBlock[] {
    const due = this.#garbage.all(freedBy, limit)
    return due.length < limit ? [...due, ...this.#garbageAhead.all(now, limit - due.length)] : due
  }

  /** Blocks whose deletion a crash may have interrupted. */
  deleting(): StoredBlock[] {
    return this.#deleting.all()
  }

  durableAfter(id: number, limit: number): StoredBlock[] {
    return this.#durableAfter.all(id, limit)
  }

  /** Whether a complete root lacks a block that was found lost. */
  isLostFrom(rootId: number): boolean {
    return this.#isLostFrom.get(rootId) !== undefined
  }

  completeRootsOf(
    blockId: number,
    after: number,
    limit: number,
  ): Array<{ id: number; codec: number; multihash: Uint8Array }> {
    return this.#completeRootsOf.all(blockId, after, limit)
  }
}
