import type { CatalogueTable } from '../../../src/catalogue/tables.ts'
import type { Sql } from '../database/sql.ts'

/** A feature drops changes of records above 1,000 waiting ones. The rest is for other changes of the account. */
const MOST_WAITING = 800
/** Changes of a record that is taken over: its change now, and those of its fetch. */
const CHANGES_EACH = 4
const OPEN = `
  SELECT COUNT(*) AS count FROM (
    SELECT 1 FROM records WHERE account_id = $1 AND status IN ('queued', 'pinning') AND lost_with IS NOT NULL
    LIMIT $2) AS open`

/** Keeps the changes of an account's records below the number at which a feature drops them. */
export class LostPace {
  readonly #tables: readonly CatalogueTable[]

  /** @param tables the tables of features */
  constructor(tables: readonly CatalogueTable[]) {
    this.#tables = tables.filter(({ backlog }) => backlog !== undefined)
  }

  /** Names what a record waits for while there is no room. */
  get names(): string {
    return this.#tables.map(({ name }) => name).join(' and ')
  }

  /** Returns how many records may become complete now. */
  async roomForWhole(sql: Sql, accountId: string): Promise<number> {
    return (await this.#room(sql, accountId)) ?? MOST_WAITING
  }

  /** Returns how many of `wanted` records may change now. */
  async roomFor(sql: Sql, accountId: string, wanted: number): Promise<number> {
    const room = await this.#room(sql, accountId)
    if (room === null) return wanted
    const open = (await sql.first<{ count: number }>(OPEN, [accountId, MOST_WAITING]))?.count ?? 0
    return Math.min(wanted, Math.max(0, Math.floor(room / CHANGES_EACH) - open))
  }

  /** Returns null if no feature has to handle changes of the account. */
  async #room(sql: Sql, accountId: string): Promise<number | null> {
    let room: number | null = null
    for (const { name, backlog, account } of this.#tables) {
      const text = `SELECT MAX(${backlog}) AS waiting FROM ${name} WHERE ${account} = $1`
      const waiting = (await sql.first<{ waiting: number | null }>(text, [accountId]))?.waiting ?? null
      if (waiting !== null) room = Math.max(0, Math.min(room ?? MOST_WAITING, MOST_WAITING - waiting))
    }
    return room
  }
}
