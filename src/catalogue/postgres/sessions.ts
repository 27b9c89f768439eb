import type { Account } from '../accounts.ts'
import type { Page, PageRequest } from '../page.ts'
import { pageOf, placeAfter } from '../row-cursor.ts'
import { MOST_SESSIONS, type Session, type SessionStore } from '../sessions.ts'
import { lockedAccount } from './accounts.ts'
import type { Postgres } from './postgres.ts'

type RawRow = Session & { rowid: number }

const COLUMNS = 'id, account_id AS "accountId", created_at AS "createdAt", expires_at AS "expiresAt", seq AS rowid'
/** Sessions that the beginning of one removes: more than come, so that none stay for long. */
const CLEARED_AT_ONCE = 100

/** The rows of `sessions`: those that have not been ended. */
export class PostgresSessions implements SessionStore {
  readonly #database: Postgres

  constructor(database: Postgres) {
    this.#database = database
  }

  begin(session: Session, check: { now: number; passwordHash: string }): Promise<Account | 'stale' | 'disabled'> {
    const { id, accountId, createdAt, expiresAt } = session
    return this.#database.transaction(async sql => {
      const account = await lockedAccount(sql, accountId)
      const known = 'SELECT 1 FROM accounts WHERE id = $1 AND password_hash = $2'
      const hasPassword = account !== null && (await sql.first(known, [accountId, check.passwordHash])) !== undefined
      if (account === null || !hasPassword) return 'stale'
      if (account.disabled) return 'disabled'
      await sql.run(
        `DELETE FROM sessions WHERE id = ANY(ARRAY(
           SELECT id FROM sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))`,
        [check.now, CLEARED_AT_ONCE],
      )
      await sql.run('INSERT INTO sessions (id, account_id, created_at, expires_at) VALUES ($1, $2, $3, $4)', [
        ...[id, accountId, createdAt, expiresAt],
      ])
      await sql.run(
        `DELETE FROM sessions WHERE id = ANY(ARRAY(
           SELECT id FROM sessions WHERE account_id = $1 ORDER BY created_at DESC, seq DESC LIMIT $2 OFFSET $3))`,
        [accountId, CLEARED_AT_ONCE, MOST_SESSIONS],
      )
      return account
    }, accountId)
  }

  async get(id: string): Promise<Session | null> {
    const raw = await this.#database.reading.first<RawRow>(`SELECT ${COLUMNS} FROM sessions WHERE id = $1`, [id])
    return raw === undefined ? null : toRow(raw)
  }

  async list(accountId: string, now: number, { after, limit }: PageRequest): Promise<Page<Session>> {
    const { createdAt, rowid } = placeAfter(after)
    const raw = await this.#database.reading.all<RawRow>(
      `SELECT ${COLUMNS} FROM sessions WHERE account_id = $1 AND (created_at, seq) > ($2, $3) AND expires_at > $4
       ORDER BY created_at, seq LIMIT $5`,
      [accountId, createdAt, rowid, now, limit + 1],
    )
    return pageOf(raw, limit, toRow)
  }

  async end(id: string): Promise<boolean> {
    return (await this.#database.command('DELETE FROM sessions WHERE id = $1', [id])) > 0
  }

  endAll(accountId: string, keep: string | null): Promise<number> {
    return this.#database.command('DELETE FROM sessions WHERE account_id = $1 AND id <> $2', [accountId, keep ?? ''])
  }
}

function toRow({ rowid: _, ...row }: RawRow): Session {
  return row
}
