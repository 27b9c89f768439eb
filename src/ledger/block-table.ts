import type { Database } from '../storage/database.ts'
import { WithStatements } from '../storage/with-statements.ts'
import { COLUMNS, FIND_BLOCK, IS_COMPARED, LIVE_ROOT, ROOTS_LOOKED_AT } from './block-rows.ts'
import type { BlockRow, Blocks, HeldBlock, RootOfBlock, StoredBlock } from './blocks.ts'
import { OpenBlocks } from './open-blocks.ts'
import type { Possessor } from './possessor.ts'
import { PRIVATE_WAY } from './private-ways.ts'

const STORED_COLUMNS = `${COLUMNS}, b.backend_id AS backendId, b.multihash`

export const BYTES_OF = 'SELECT bytes FROM small_blocks WHERE block_id = ?'

/**
 * Next durable blocks by id, with lost blocks that a complete root needs. Uses only columns that every version of the
 * schema has.
 */
export const DURABLE_AFTER = `
    SELECT ${STORED_COLUMNS} FROM blocks b
    WHERE b.id > ? AND (b.state = 'durable' OR (b.state = 'writing' AND EXISTS (
      SELECT 1 FROM root_blocks rb JOIN roots r ON r.id = rb.root_id
      WHERE rb.block_id = b.id AND r.state = 'complete')))
    ORDER BY b.id LIMIT ?`

/**
 * Values of `root_blocks.way` for a public root. With 0 the root makes the block public. The other values are HTTP
 * statuses for refused requests.
 */
const PUBLIC_WAYS = [0, 404, 410, 451]
const WAYS = [...PUBLIC_WAYS, ...PUBLIC_WAYS.map(way => way + PRIVATE_WAY)]

/** Reads the durable blocks of any database, also of one that lacks what {@link BlockTable} needs. */
export function durableBlocks(db: Database): Pick<Blocks, 'durableAfter'> {
  return { durableAfter: (id, limit) => db.prepare<[number, number], StoredBlock>(DURABLE_AFTER).all(id, limit) }
}

/** Tables of blocks and of the roots that need them. */
export class BlockTable extends WithStatements implements Blocks {
  readonly open: OpenBlocks
  readonly #find = this.db.prepare<[Uint8Array, number], BlockRow>(FIND_BLOCK)
  readonly #get = this.db.prepare<[number], BlockRow>(`SELECT ${COLUMNS} FROM blocks b WHERE b.id = ?`)
  readonly #findPossessed = this.db.prepare<
    [number, number, number, number],
    { rootId: number; liveUntil: number | null }
  >(`
    SELECT r.id AS rootId, r.live_until AS liveUntil
    FROM (SELECT root_id FROM root_blocks WHERE block_id = ? LIMIT ?) first_roots
    CROSS JOIN roots r ON r.id = first_roots.root_id WHERE ${LIVE_ROOT} AND r.owner IN (0, ?)
      AND ${IS_COMPARED} LIMIT 1`)
  readonly #bytes = this.db.prepare<[number], { bytes: Uint8Array }>(BYTES_OF)
  readonly #storedSize = this.db.prepare<[number], { size: number }>(`
    SELECT length(bytes) AS size FROM small_blocks WHERE block_id = ?`)
  readonly #delete = this.db.prepare<[number]>('DELETE FROM blocks WHERE id = ?')
  readonly #deleteBytes = this.db.prepare<[number]>('DELETE FROM small_blocks WHERE block_id = ?')
  readonly #isNeeded = this.db.prepare<[number]>('SELECT 1 FROM root_blocks WHERE block_id = ? LIMIT 1')
  readonly #isNeededBy = this.db.prepare<[number, number]>(`
    SELECT 1 FROM root_blocks WHERE root_id = ? AND block_id = ?`)
  readonly #isOpenIn = this.db.prepare<[number, Uint8Array, number]>(`
    SELECT 1 FROM blocks b CROSS JOIN root_blocks rb ON rb.root_id = ? AND rb.block_id = b.id
    WHERE b.multihash = ? AND b.backend_id = ? AND rb.way IN (0, ${PRIVATE_WAY})`)
  readonly #isBelow = this.db.prepare<[number, number, number, Uint8Array]>(`
    SELECT 1 FROM (SELECT root_id FROM root_blocks WHERE block_id = ? LIMIT ?) first_roots
    CROSS JOIN roots r ON r.id = first_roots.root_id
    WHERE r.state = 'complete' AND r.owner IN (0, ?) AND ${IS_COMPARED} AND EXISTS (
      SELECT 1 FROM blocks b CROSS JOIN root_blocks rb ON rb.block_id = b.id AND rb.root_id = r.id WHERE b.multihash = ?)
    LIMIT 1`)
  readonly #neededBy = this.db.prepare<[number, number], { blockId: number }>(`
    SELECT block_id AS blockId FROM root_blocks WHERE root_id = ? LIMIT ?`)
  readonly #neededAfter = this.db.prepare<[number, number, number], StoredBlock>(`
    SELECT ${STORED_COLUMNS} FROM root_blocks rb JOIN blocks b ON b.id = rb.block_id
    WHERE rb.root_id = ? AND rb.block_id > ? ORDER BY rb.block_id LIMIT ?`)
  readonly #release = this.db.prepare<[number, number]>('DELETE FROM root_blocks WHERE root_id = ? AND block_id = ?')
  readonly #addGarbage = this.db.prepare<[number, number]>(`
    INSERT INTO garbage (block_id, freed_at) VALUES (?, ?)
    ON CONFLICT (block_id) DO UPDATE SET freed_at = excluded.freed_at`)
  readonly #dropGarbage = this.db.prepare<[number]>('DELETE FROM garbage WHERE block_id = ?')
  readonly #garbage = this.db.prepare<[number, number], StoredBlock>(`
    SELECT ${STORED_COLUMNS} FROM garbage g JOIN blocks b ON b.id = g.block_id
    WHERE g.freed_at <= ? ORDER BY g.freed_at LIMIT ?`)
  readonly #garbageAhead = this.db.prepare<[number, number], StoredBlock>(`
    SELECT ${STORED_COLUMNS} FROM garbage g JOIN blocks b ON b.id = g.block_id
    WHERE g.freed_at > ? ORDER BY g.freed_at LIMIT ?`)
  readonly #durableAfter = this.db.prepare<[number, number], StoredBlock>(DURABLE_AFTER)
  readonly #durableAmount = this.db.prepare<[], { count: number; bytes: number }>(`
    SELECT count, bytes FROM counters WHERE kind = 'blocks' AND state = 'durable'`)
  readonly #completeRootsOf = this.db.prepare<[number, number, number, number], RootOfBlock>(`
    SELECT r.id, r.codec, r.multihash, r.owner FROM root_blocks rb JOIN roots r ON r.id = rb.root_id
    WHERE rb.block_id = ? AND rb.way = ? AND rb.root_id > ? AND r.state = 'complete' ORDER BY rb.root_id LIMIT ?`)
  readonly #deleting = this.db.prepare<[], StoredBlock>(`
    SELECT ${STORED_COLUMNS} FROM blocks b WHERE b.state = 'deleting'`)
  readonly #isLostFrom = this.db.prepare<[number]>(`
    SELECT 1 FROM blocks b INDEXED BY blocks_writing JOIN root_blocks rb ON rb.block_id = b.id
    WHERE b.state = 'writing' AND rb.root_id = ? LIMIT 1`)

  constructor(db: Database) {
    super(db)
    this.open = new OpenBlocks(db)
  }

  find(backendId: number, multihash: Uint8Array): BlockRow | undefined {
    return this.#find.get(multihash, backendId)
  }

  get(blockId: number): BlockRow | undefined {
    return this.#get.get(blockId)
  }

  /**
   * Returns the block with a root through which a possessor may use it, on any backend.
   *
   * @param last backends to search after all other backends
   */
  findPossessed(multihash: Uint8Array, by: Possessor, last: ReadonlySet<number>): HeldBlock | undefined {
    return this.open.onBackends(multihash, last, backendId => {
      const block = this.#find.get(multihash, backendId)
      const root = block && this.#possessed(block.id, by)
      return root && { ...block, ...root, backendId }
    })
  }

  /** Returns whether a possessor may use the block with this id. */
  isPossessed(blockId: number, by: Possessor): boolean {
    return this.isNeededBy(by.sentRoot, blockId) || this.#possessed(blockId, by) !== undefined
  }

  /**
   * Compares a bounded number of the roots that need the block, because a stranger can make many. If all of them are of
   * others or have ended, the block counts as absent, and is sent or fetched again.
   */
  #possessed(blockId: number, { owner, now }: Possessor): { rootId: number; liveUntil: number | null } | undefined {
    return this.#findPossessed.get(blockId, ROOTS_LOOKED_AT, now, owner)
  }

  bytes(blockId: number): Uint8Array | undefined {
    return this.#bytes.get(blockId)?.bytes
  }

  storedSize(blockId: number): number | undefined {
    return this.#storedSize.get(blockId)?.size
  }

  idsOf(multihash: Uint8Array): number[] {
    return this.open.idsOf(multihash)
  }

  delete(blockId: number): void {
    this.#deleteBytes.run(blockId)
    this.#delete.run(blockId)
  }

  isNeeded(blockId: number): boolean {
    return this.#isNeeded.get(blockId) !== undefined
  }

  /** Ignores the states of the root and of the block. */
  isNeededBy(rootId: number, blockId: number): boolean {
    return this.#isNeededBy.get(rootId, blockId) !== undefined
  }

  /** Returns whether a root needs a block of its backend, by a way without a takedown. */
  isOpenIn(rootId: number, backendId: number, multihash: Uint8Array): boolean {
    return this.#isOpenIn.get(rootId, multihash, backendId) !== undefined
  }

  /** Returns whether a root of the possessor needs both blocks. Compares a bounded number of roots. */
  isBelow(upper: Uint8Array, multihash: Uint8Array, { owner }: Possessor): boolean {
    return this.idsOf(upper).some(id => this.#isBelow.get(id, ROOTS_LOOKED_AT, owner, multihash) !== undefined)
  }

  neededBy(rootId: number, limit: number): number[] {
    return this.#neededBy.all(rootId, limit).map(row => row.blockId)
  }

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
   * Returns the garbage freed at or before `freedBy`, oldest first. Blocks with a time after `now` follow, because such
   * a time comes from a wrong clock.
   */
  garbage(freedBy: number, now: number, limit: number): StoredBlock[] {
    const due = this.#garbage.all(freedBy, limit)
    return due.length < limit ? [...due, ...this.#garbageAhead.all(now, limit - due.length)] : due
  }

  deleting(): StoredBlock[] {
    return this.#deleting.all()
  }

  durableAfter(id: number, limit: number): StoredBlock[] {
    return this.#durableAfter.all(id, limit)
  }

  durableAmount(): { count: number; bytes: number } {
    return this.#durableAmount.get() ?? { count: 0, bytes: 0 }
  }

  isLostFrom(rootId: number): boolean {
    return this.#isLostFrom.get(rootId) !== undefined
  }

  completeRootsOf(blockId: number, after: number, limit: number): RootOfBlock[] {
    return this.everyWay(way => this.#completeRootsOf.all(blockId, way, after, limit), limit)
  }

  /** Queries each way separately and merges the rows by id, because the index contains the way before the id. */
  everyWay<T extends { id: number }>(find: (way: number) => T[], limit: number): T[] {
    const found = WAYS.map(find).filter(rows => rows.length > 0)
    if (found.length < 2) return found[0] ?? []
    const inOrder = found.flat().sort((a, b) => a.id - b.id)
    return inOrder.slice(0, limit)
  }
}
