import { WithStatements } from '../storage/with-statements.ts'

/**
 * Added to `root_blocks.way` for a root of an account. The index of the ways then has the public roots of a block first,
 * so a look-up for a stranger passes no private roots.
 */
export const PRIVATE_WAY = 1_000

const ROWS_AT_ONCE = 500

/** Closes the blocks of a root to strangers. */
export class PrivateWays extends WithStatements {
  readonly #next = this.db.prepare<[number, number, number], { blockId: number; way: number }>(`
    SELECT block_id AS blockId, way FROM root_blocks WHERE root_id = ? AND block_id > ? ORDER BY block_id LIMIT ?`)
  readonly #set = this.db.prepare<[number, number, number]>(`
    UPDATE root_blocks SET way = ? WHERE root_id = ? AND block_id = ?`)

  /** Closes the next blocks of a root. Returns the id of the last one, or null if none is left after it. */
  close(rootId: number, after: number): number | null {
    const rows = this.#next.all(rootId, after, ROWS_AT_ONCE)
    for (const { blockId, way } of rows) if (way < PRIVATE_WAY) this.#set.run(way + PRIVATE_WAY, rootId, blockId)
    return rows.length < ROWS_AT_ONCE ? null : (rows.at(-1)?.blockId ?? null)
  }
}
