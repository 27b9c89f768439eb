import type { Database, Statement } from '../storage/database.ts'
import { COLUMNS, FIND_BLOCK, ROOTS_LOOKED_AT } from './block-rows.ts'
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

/** Tables of blocks and of the roots that need them. */
export class BlockTable implements Blocks {
  readonly open: OpenBlocks
  readonly #find: Statement<[Uint8Array, number], BlockRow>
  readonly #get: Statement<[number], BlockRow>
  readonly #findPossessed: Statement<[number, number, number, number], { rootId: number; liveUntil: number | null }>
  readonly #backendsOf: Statement<[Uint8Array], { backendId: number }>
  readonly #idsOf: Statement<[Uint8Array], { id: number }>
  readonly #bytes: Statement<[number], { bytes: Uint8Array }>
  readonly #storedSize: Statement<[number], { size: number }>
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
  readonly #durableAmount: Statement<[], { count: number; bytes: number }>
  readonly #completeRootsOf: Statement<[number, number, number, number], RootOfBlock>
  readonly #deleting: Statement<[], StoredBlock>
  readonly #isLostFrom: Statement<[number], unknown>

  constructor(db: Database) {
    this.open = new OpenBlocks(db)
    this.#find = db.prepare(FIND_BLOCK)
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM blocks b WHERE b.id = ?`)
    const live = "r.state = 'complete' AND (r.live_until IS NULL OR r.live_until > ?)"
    this.#findPossessed = db.prepare(`
      SELECT r.id AS rootId, r.live_until AS liveUntil
      FROM (SELECT root_id FROM root_blocks WHERE block_id = ? LIMIT ?) first_roots
      CROSS JOIN roots r ON r.id = first_roots.root_id WHERE ${live} AND r.owner IN (0, ?) LIMIT 1`)
    this.#backendsOf = db.prepare('SELECT backend_id AS backendId FROM blocks WHERE multihash = ? ORDER BY backend_id')
    this.#idsOf = db.prepare('SELECT id FROM blocks WHERE multihash = ?')
    this.#bytes = db.prepare(BYTES_OF)
    this.#storedSize = db.prepare('SELECT length(bytes) AS size FROM small_blocks WHERE block_id = ?')
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
    this.#garbage = db.prepare(`
      SELECT ${STORED_COLUMNS} FROM garbage g JOIN blocks b ON b.id = g.block_id
      WHERE g.freed_at <= ? ORDER BY g.freed_at LIMIT ?`)
    this.#garbageAhead = db.prepare(`
      SELECT ${STORED_COLUMNS} FROM garbage g JOIN blocks b ON b.id = g.block_id
      WHERE g.freed_at > ? ORDER BY g.freed_at LIMIT ?`)
    this.#neededAfter = db.prepare(`
      SELECT ${STORED_COLUMNS} FROM root_blocks rb JOIN blocks b ON b.id = rb.block_id
      WHERE rb.root_id = ? AND rb.block_id > ? ORDER BY rb.block_id LIMIT ?`)
    this.#durableAfter = db.prepare(DURABLE_AFTER)
    this.#durableAmount = db.prepare(`SELECT count, bytes FROM counters WHERE kind = 'blocks' AND state = 'durable'`)
    this.#completeRootsOf = db.prepare(`
      SELECT r.id, r.codec, r.multihash, r.owner FROM root_blocks rb JOIN roots r ON r.id = rb.root_id
      WHERE rb.block_id = ? AND rb.way = ? AND rb.root_id > ? AND r.state = 'complete' ORDER BY rb.root_id LIMIT ?`)
    this.#deleting = db.prepare(`SELECT ${STORED_COLUMNS} FROM blocks b WHERE b.state = 'deleting'`)
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
   * Returns the block with a root through which a possessor may use it, on any backend.
   *
   * @param last backends to search after all other backends
   */
  findPossessed(multihash: Uint8Array, by: Possessor, last: ReadonlySet<number>): HeldBlock | undefined {
    return this.#onBackends(multihash, last, backendId => {
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

  #onBackends<T>(
    multihash: Uint8Array,
    last: ReadonlySet<number>,
    find: (backendId: number) => T | undefined,
  ): T | undefined {
    const backends = this.#backendsOf.all(multihash)
    const inOrder =
      last.size === 0
        ? backends
        : [...backends.filter(b => !last.has(b.backendId)), ...backends.filter(b => last.has(b.backendId))]
    for (const { backendId } of inOrder) {
      const found = find(backendId)
      if (found !== undefined) return found
    }
    return undefined
  }

  bytes(blockId: number): Uint8Array | undefined {
    return this.#bytes.get(blockId)?.bytes
  }

  storedSize(blockId: number): number | undefined {
    return this.#storedSize.get(blockId)?.size
  }

  /** A block has a different id on each backend. */
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

  /** Ignores the states of the root and of the block. */
  isNeededBy(rootId: number, blockId: number): boolean {
    return this.#isNeededBy.get(rootId, blockId) !== undefined
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
