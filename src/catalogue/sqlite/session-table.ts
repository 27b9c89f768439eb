import type { Database, Statement } from '../../storage/database.ts'

export interface SessionRow {
  id: string
  accountId: string
  createdAt: number
  expiresAt: number
}

/** The rows of `sessions`: those that have not been ended. */
export class SessionTable {
  readonly #insert: Statement<[string, string, number, number], unknown>
  readonly #get: Statement<[string], SessionRow>
  readonly #delete: Statement<[string], unknown>
  readonly #deleteOthers: Statement<[string, string], unknown>
  readonly #deleteExpired: Statement<[number], unknown>

  constructor(db: Database) {
    this.#insert = db.prepare('INSERT INTO sessions (id, account_id, created_at, expires_at) VALUES (?, ?, ?, ?)')
    this.#get = db.prepare(`
      SELECT id, account_id AS accountId, created_at AS createdAt, expires_at AS expiresAt FROM sessions WHERE id = ?`)
    this.#delete = db.prepare('DELETE FROM sessions WHERE id = ?')
    this.#deleteOthers = db.prepare('DELETE FROM sessions WHERE account_id = ? AND id <> ?')
    this.#deleteExpired = db.prepare('DELETE FROM sessions WHERE expires_at <= ?')
  }

  insert({ id, accountId, createdAt, expiresAt }: SessionRow): void {
    this.#insert.run(id, accountId, createdAt, expiresAt)
  }

  get(id: string): SessionRow | undefined {
    return this.#get.get(id)
  }

  delete(id: string): void {
    this.#delete.run(id)
  }

  /** All of an account but the one with the id `keep`, if any is to be kept. */
  deleteOf(accountId: string, keep: string | null): void {
    this.#deleteOthers.run(accountId, keep ?? '')
  }

  deleteExpired(now: number): void {
    this.#deleteExpired.run(now)
  }
}
