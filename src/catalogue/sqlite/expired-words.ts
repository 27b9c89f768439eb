import type { Database, Statement } from '../../storage/database.ts'

/** Maximum number of records that one transaction marks as changed. */
const STEP = 500
const LAST_ROW = Number.MAX_SAFE_INTEGER

/** A position among an account's records in the order of their expiry. */
interface Place {
  at: number
  row: number
}

/**
 * Marks expired records as changed, so that their words leave the search index before the records are removed.
 * If the clock is set back, the stored position moves back too, because some expired records are live again.
 */
export class ExpiredWords {
  readonly #place: Statement<[string], Place>
  readonly #expired: Statement<[string, number, number, number, number], Place & { id: number }>
  readonly #live: Statement<[string, number, number, number, number], Place & { id: number }>
  readonly #note: Statement<[string], unknown>
  readonly #setPlace: Statement<[number, number, string], unknown>

  constructor(db: Database) {
    this.#place = db.prepare('SELECT expired_until AS at, expired_row AS row FROM search_lists WHERE account_id = ?')
    const rows = (place: string, bound: string, order: string): string => `
      SELECT search_id AS id, expires_at AS at, rowid AS row FROM records INDEXED BY records_by_account_expiry
      WHERE account_id = ? AND expires_at IS NOT NULL AND (expires_at, rowid) ${place} (?, ?) AND expires_at ${bound} ?
      ORDER BY expires_at ${order}, rowid ${order} LIMIT ?`
    this.#expired = db.prepare(rows('>', '<=', 'ASC'))
    this.#live = db.prepare(rows('<=', '>', 'DESC'))
    this.#note = db.prepare('INSERT OR IGNORE INTO search_pending (search_id) SELECT value FROM json_each(?)')
    this.#setPlace = db.prepare('UPDATE search_lists SET expired_until = ?, expired_row = ? WHERE account_id = ?')
  }

  /** Returns whether the position of an account does not match the time `now`. */
  isBehind(accountId: string, now: number): boolean {
    const place = this.#place.get(accountId)
    if (place === undefined) return false
    return place.at > now || this.#expired.get(accountId, place.at, place.row, now, 1) !== undefined
  }

  step(accountId: string, now: number): void {
    const place = this.#place.get(accountId)
    if (place === undefined) return
    const isBack = place.at > now
    const rows = (isBack ? this.#live : this.#expired).all(accountId, place.at, place.row, now, STEP)
    this.#note.run(JSON.stringify(rows.map(({ id }) => id)))
    const end = rows.at(-1)
    if (isBack && rows.length < STEP) this.#setPlace.run(now, LAST_ROW, accountId)
    else if (end !== undefined) this.#setPlace.run(end.at, isBack ? end.row - 1 : end.row, accountId)
  }
}
