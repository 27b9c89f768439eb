import type { Database, Statement } from '../storage/database.ts'
import { COLUMNS, FIND_BLOCK, ROOTS_LOOKED_AT } from './block-rows.ts'
import type { BlockRow, HeldBlock } from './blocks.ts'
import { PRIVATE_WAY } from './private-ways.ts'

/**
 * Stale rows of a block that a read passes: rows with a public way whose root has become private. Their walk closes them.
 */
const MOST_STALE = 64

/** Finds blocks for strangers, and for accounts that read their own content. */
export class OpenBlocks {
  readonly #block: Statement<[Uint8Array, number], BlockRow>
  readonly #find: Statement<[Uint8Array, number, number], HeldBlock>
  readonly #findOwn: Statement<[number, number, number, number], { rootId: number; liveUntil: number | null }>
  readonly #isStale: Statement<[Uint8Array, number, number], unknown>
  readonly #rootsOf: Statement<[number, number, number, number], { id: number }>
  readonly #findRefusal: Statement<[Uint8Array, number, number], { way: number; barred: number }>
  readonly #backendsOf: Statement<[Uint8Array], { backendId: number }>
  readonly #idsOf: Statement<[Uint8Array], { id: number }>

  constructor(db: Database) {
    this.#block = db.prepare(FIND_BLOCK)
    this.#backendsOf = db.prepare('SELECT backend_id AS backendId FROM blocks WHERE multihash = ? ORDER BY backend_id')
    this.#idsOf = db.prepare('SELECT id FROM blocks WHERE multihash = ?')
    const live = "r.state = 'complete' AND (r.live_until IS NULL OR r.live_until > ?)"
    // SQLite computes the rows of a subquery with a limit one by one, so the first public root ends a look-up.
    const seen = (ways: string) => `
      (SELECT ${COLUMNS}, b.backend_id AS backendId, r.id AS rootId, r.live_until AS liveUntil, rb.way, r.barred, r.owner
      FROM blocks b JOIN root_blocks rb ON rb.block_id = b.id JOIN roots r ON r.id = rb.root_id
      WHERE b.multihash = ? AND b.backend_id = ? AND ${live} AND ${ways} LIMIT ${MOST_STALE + 1})`
    const open = seen('rb.way = 0 AND r.barred = 0')
    this.#find = db.prepare(`
      SELECT id, size, state, inline, backendId, rootId, liveUntil FROM ${open} WHERE owner = 0 LIMIT 1`)
    this.#findOwn = db.prepare(`
      SELECT r.id AS rootId, r.live_until AS liveUntil
      FROM (SELECT root_id FROM root_blocks WHERE block_id = ? AND way IN (0, ${PRIVATE_WAY}) LIMIT ?) first_roots
      CROSS JOIN roots r ON r.id = first_roots.root_id WHERE ${live} AND r.barred = 0 AND r.owner = ? LIMIT 1`)
    this.#isStale = db.prepare(`SELECT 1 FROM ${open} LIMIT 1 OFFSET ${MOST_STALE}`)
    this.#rootsOf = db.prepare(`
      SELECT r.id FROM (SELECT root_id FROM root_blocks WHERE block_id = ? AND way = 0 ORDER BY root_id LIMIT ?) first_roots
      CROSS JOIN roots r ON r.id = first_roots.root_id
      WHERE ${live} AND r.barred = 0 AND r.owner = 0 LIMIT ?`)
    this.#findRefusal = db.prepare(`SELECT way, barred FROM ${seen(`rb.way < ${PRIVATE_WAY}`)} WHERE owner = 0 LIMIT 1`)
  }

  /**
   * Returns the block with a live root that makes the block public, on any backend.
   *
   * @param last backends to search after all other backends
   */
  find(multihash: Uint8Array, now: number, last: ReadonlySet<number>): HeldBlock | undefined {
    return this.#onBackends(multihash, last, backendId => this.#find.get(multihash, backendId, now))
  }

  /** Returns the block with a live root of an owner by a way without a takedown. Compares a bounded number of roots. */
  findOwn(multihash: Uint8Array, now: number, owner: number): HeldBlock | undefined {
    return this.#onBackends(multihash, new Set(), backendId => {
      const block = this.#block.get(multihash, backendId)
      const root = block && this.#findOwn.get(block.id, ROOTS_LOOKED_AT, now, owner)
      return root && { ...block, ...root, backendId }
    })
  }

  /**
   * Returns whether so many rows of a block name roots that have become private that {@link find} may have missed a
   * public root.
   */
  isStale(multihash: Uint8Array, now: number): boolean {
    return (
      this.#onBackends(multihash, new Set(), backendId => this.#isStale.get(multihash, backendId, now)) !== undefined
    )
  }

  /**
   * Returns live roots that make a block public, oldest first on each backend. Looks only at the oldest roots that need
   * the block, because roots of removed records may be many.
   */
  rootsOf(multihash: Uint8Array, now: number, limit: number): number[] {
    return this.#idsOf
      .all(multihash)
      .flatMap(({ id }) => this.#rootsOf.all(id, ROOTS_LOOKED_AT, now, limit))
      .map(({ id }) => id)
  }

  /**
   * Returns why a block is not public, according to one of the live roots that need the block. Returns undefined if
   * there is no such root.
   */
  findRefusal(multihash: Uint8Array, now: number): { way: number; barred: number } | undefined {
    return this.#onBackends(multihash, new Set(), backendId => this.#findRefusal.get(multihash, backendId, now))
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
}
