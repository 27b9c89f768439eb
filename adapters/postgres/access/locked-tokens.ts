import { usedUp } from '../../../src/catalogue/rules/record-rules.ts'
import type { Sql } from '../database/sql.ts'

/** Upload tokens whose rows stay locked until the transaction ends. The lock keeps their uses exact. */
export class LockedTokens {
  readonly #sql: Sql
  /** The uses left of each token. */
  readonly #left: ReadonlyMap<string, number>
  readonly #taken = new Map<string, number>()

  private constructor(sql: Sql, left: ReadonlyMap<string, number>) {
    this.#sql = sql
    this.#left = left
  }

  /** Locks the rows in the order of their ids, to avoid deadlocks. */
  static async lock(sql: Sql, ids: readonly string[]): Promise<LockedTokens> {
    if (ids.length === 0) return new LockedTokens(sql, new Map())
    const tokens = await sql.all<{ id: string; left: number }>(
      `SELECT id, max_uses - uses AS left FROM api_keys WHERE id = ANY($1) AND is_token ORDER BY id FOR UPDATE`,
      [[...new Set(ids)]],
    )
    return new LockedTokens(sql, new Map(tokens.map(({ id, left }) => [id, left])))
  }

  /** @throws HoldfastError `QUOTA_EXCEEDED` if the token has no use left; `INVALID_API_KEY` if it no longer exists */
  check(id: string): void {
    const left = this.#left.get(id)
    if (left === undefined || left <= (this.#taken.get(id) ?? 0)) throw usedUp(left !== undefined)
  }

  take(id: string): void {
    this.#taken.set(id, (this.#taken.get(id) ?? 0) + 1)
  }

  async write(): Promise<void> {
    if (this.#taken.size === 0) return
    await this.#sql.run(
      `UPDATE api_keys SET uses = api_keys.uses + taken.uses FROM unnest($1::text[], $2::bigint[]) AS taken (id, uses)
       WHERE api_keys.id = taken.id`,
      [[...this.#taken.keys()], [...this.#taken.values()]],
    )
    this.#taken.clear()
  }
}
