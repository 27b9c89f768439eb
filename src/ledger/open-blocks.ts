import { WithStatements } from '../storage/with-statements.ts'
import { COLUMNS, FIND_BLOCK, LAST_UNCOMPARED, LIVE_ROOT, ROOTS_LOOKED_AT } from './block-rows.ts'
import type { BlockRow, HeldBlock } from './blocks.ts'
import { PRIVATE_WAY } from './private-ways.ts'

/**
 * Stale rows of a block that a read passes: rows with a public way whose root has become private. Their walk closes them.
 */
const MOST_STALE = 64

// SQLite computes the rows of a subquery with a limit one by one, so the first public root ends a look-up.
const seen = (ways: string) => `
  (SELECT ${COLUMNS}, b.backend_id AS backendId, r.id AS rootId, r.live_until AS liveUntil, rb.way, r.barred, r.owner
  FROM blocks b JOIN root_blocks rb ON rb.block_id = b.id JOIN roots r ON r.id = rb.root_id
  WHERE b.multihash = ? AND b.backend_id = ? AND ${LIVE_ROOT} AND ${ways} LIMIT ${MOST_STALE + 1})`
const OPEN = seen('rb.way = 0 AND r.barred = 0')

interface Backend {
  backendId: number
}

/** A row at or after a multihash in the order of multihashes and backends. */
interface Nearest extends Backend {
  isIt: 0 | 1
  isPublic: 0 | 1
}

/** Finds blocks for strangers, and for accounts that read their own content. */
export class OpenBlocks extends WithStatements {
  readonly #block = this.db.prepare<[Uint8Array, number], BlockRow>(FIND_BLOCK)
  readonly #find = this.db.prepare<[Uint8Array, number, number], HeldBlock>(`
    SELECT id, size, state, inline, backendId, rootId, liveUntil FROM ${OPEN}
    WHERE owner = 0 AND rootId > ${LAST_UNCOMPARED} LIMIT 1`)
  readonly #findOwn = this.db.prepare<[number, number, number, number], { rootId: number; liveUntil: number | null }>(`
    SELECT r.id AS rootId, r.live_until AS liveUntil
    FROM (SELECT root_id FROM root_blocks WHERE block_id = ? AND way IN (0, ${PRIVATE_WAY}) LIMIT ?) first_roots
    CROSS JOIN roots r ON r.id = first_roots.root_id WHERE ${LIVE_ROOT} AND r.barred = 0 AND r.owner = ? LIMIT 1`)
  readonly #isStale = this.db.prepare<[Uint8Array, number, number]>(`
    SELECT 1 FROM ${OPEN} LIMIT 1 OFFSET ${MOST_STALE}`)
  readonly #rootsOf = this.db.prepare<[number, number, number, number], { id: number }>(`
    SELECT r.id FROM (SELECT root_id FROM root_blocks WHERE block_id = ? AND way = 0 ORDER BY root_id LIMIT ?) first_roots
    CROSS JOIN roots r ON r.id = first_roots.root_id
    WHERE ${LIVE_ROOT} AND r.barred = 0 AND r.owner = 0 LIMIT ?`)
  readonly #findRefusal = this.db.prepare<[Uint8Array, number, number], { way: number; barred: number }>(`
    SELECT way, CASE WHEN rootId > ${LAST_UNCOMPARED} THEN barred ELSE 1 END AS barred
    FROM ${seen(`rb.way < ${PRIVATE_WAY}`)} WHERE owner = 0 LIMIT 1`)
  readonly #backendsOf = this.db.prepare<[Uint8Array], { backendId: number }>(`
    SELECT backend_id AS backendId FROM blocks WHERE multihash = ? ORDER BY backend_id`)
  readonly #nearest = this.db.prepare<[Uint8Array, Uint8Array, number], Nearest>(`
    SELECT backend_id AS backendId, multihash = ? AS isIt,
      EXISTS (SELECT 1 FROM root_blocks rb WHERE rb.block_id = b.id AND rb.way < ${PRIVATE_WAY}) AS isPublic
    FROM blocks b WHERE multihash >= ? ORDER BY multihash, backend_id LIMIT ?`)
  readonly #idsOf = this.db.prepare<[Uint8Array], { id: number }>('SELECT id FROM blocks WHERE multihash = ?')

  /**
   * Returns the backends on which a block is, or was, public by a root. For an absent block, the look-up reads the rows of
   * the next one. So it takes as many reads as a private block, also from a cold disk.
   *
   * @param last backends that come after all others
   */
  publicBackends(multihash: Uint8Array, last: ReadonlySet<number>): readonly Backend[] {
    for (let limit = 2; ; limit *= 16) {
      const found = this.#nearest.all(multihash, multihash, limit)
      const its = found.filter(({ isIt }) => isIt === 1)
      const open = its.filter(({ isPublic }) => isPublic === 1)
      if (its.length < limit) return inOrder(open, last)
    }
  }

  /** Returns the block with a live root that makes the block public, on the first of some backends. */
  find(multihash: Uint8Array, now: number, backends: readonly Backend[]): HeldBlock | undefined {
    return firstOn(backends, backendId => this.#find.get(multihash, backendId, now))
  }

  /** Returns the block with a live root of an owner by a way without a takedown. Compares a bounded number of roots. */
  findOwn(multihash: Uint8Array, now: number, owner: number): HeldBlock | undefined {
    return this.onBackends(multihash, NONE, backendId => {
      const block = this.#block.get(multihash, backendId)
      const root = block && this.#findOwn.get(block.id, ROOTS_LOOKED_AT, now, owner)
      return root && { ...block, ...root, backendId }
    })
  }

  /**
   * Returns whether so many rows of a block name roots that have become private that {@link find} may have missed a
   * public root.
   */
  isStale(multihash: Uint8Array, now: number, backends: readonly Backend[]): boolean {
    return firstOn(backends, backendId => this.#isStale.get(multihash, backendId, now)) !== undefined
  }

  /**
   * Returns live roots that make a block public, oldest first on each backend. Looks only at the oldest roots that need
   * the block, because roots of removed records may be many.
   */
  rootsOf(multihash: Uint8Array, now: number, limit: number): number[] {
    return this.idsOf(multihash)
      .flatMap(id => this.#rootsOf.all(id, ROOTS_LOOKED_AT, now, limit))
      .map(({ id }) => id)
  }

  /** Returns the ids of a block. It has a different id on each backend. */
  idsOf(multihash: Uint8Array): number[] {
    return this.#idsOf.all(multihash).map(({ id }) => id)
  }

  /**
   * Returns why a block is not public, according to one of the live roots that need the block. Returns undefined if
   * there is no such root.
   */
  findRefusal(
    multihash: Uint8Array,
    now: number,
    backends: readonly Backend[],
  ): { way: number; barred: number } | undefined {
    return firstOn(backends, backendId => this.#findRefusal.get(multihash, backendId, now))
  }

  /** Returns what `find` finds on the first backend with the block. Backends in `last` come after all others. */
  onBackends<T>(
    multihash: Uint8Array,
    last: ReadonlySet<number>,
    find: (backendId: number) => T | undefined,
  ): T | undefined {
    return firstOn(inOrder(this.#backendsOf.all(multihash), last), find)
  }
}

const NONE: ReadonlySet<number> = new Set()

function inOrder(backends: readonly Backend[], last: ReadonlySet<number>): readonly Backend[] {
  if (last.size === 0 || backends.length < 2) return backends
  return [...backends.filter(b => !last.has(b.backendId)), ...backends.filter(b => last.has(b.backendId))]
}

function firstOn<T>(backends: readonly Backend[], find: (backendId: number) => T | undefined): T | undefined {
  for (const { backendId } of backends) {
    const found = find(backendId)
    if (found !== undefined) return found
  }
  return undefined
}
