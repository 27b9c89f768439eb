import type { Database, Statement } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { Account } from '../accounts.ts'
import type { Page, PageRequest } from '../page.ts'
import { pageOf, placeAfter } from '../row-cursor.ts'
import { MOST_SESSIONS, type Session, type SessionStore } from '../sessions.ts'
import type { SqliteAccounts } from './account-store.ts'

type RawRow = Session & { rowid: number }

const COLUMNS = 'id, account_id AS accountId, created_at AS createdAt, expires_at AS expiresAt, rowid'
/** Sessions that the beginning of one removes: more than come, so that none stay for long. */
const CLEARED_AT_ONCE = 100

/** The rows of `sessions`: those that have not been ended. */
export class SqliteSessions implements SessionStore {
  readonly #writes: WriteQueue
  readonly #accounts: SqliteAccounts
  readonly #hasPassword: Statement<[string, string], unknown>
  readonly #insert: Statement<[string, string, number, number], unknown>
  readonly #clear: Statement<[number, number], unknown>
  readonly #clearSurplus: Statement<[string, number, number], unknown>
  readonly #get: Statement<[string], RawRow>
  readonly #page: Statement<[string, number, number, number, number], RawRow>
  readonly #delete: Statement<[string], unknown>
  readonly #deleteOthers: Statement<[string, string], unknown>

  constructor(db: Database, writes: WriteQueue, accounts: SqliteAccounts) {
    this.#writes = writes
    this.#accounts = accounts
    this.#hasPassword = db.prepare('SELECT 1 FROM accounts WHERE id = ? AND password_hash = ?')
    this.#insert = db.prepare('INSERT INTO sessions (id, account_id, created_at, expires_at) VALUES (?, ?, ?, ?)')
    this.#clear = db.prepare(`
      DELETE FROM sessions WHERE rowid IN (
        SELECT rowid FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`)
    this.#clearSurplus = db.prepare(`
      DELETE FROM sessions WHERE rowid IN (
        SELECT rowid FROM sessions WHERE account_id = ? ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?)`)
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM sessions WHERE id = ?`)
    this.#page = db.prepare(`
      SELECT ${COLUMNS} FROM sessions WHERE account_id = ? AND (created_at, rowid) > (?, ?) AND expires_at > ?
      ORDER BY created_at, rowid LIMIT ?`)
    this.#delete = db.prepare('DELETE FROM sessions WHERE id = ?')
    this.#deleteOthers = db.prepare('DELETE FROM sessions WHERE account_id = ? AND id <> ?')
  }

  begin(
    { id, accountId, createdAt, expiresAt }: Session,
    { now, passwordHash }: { now: number; passwordHash: string },
  ): Promise<Account | 'stale' | 'disabled'> {
    return this.#write(() => {
      const account = this.#accounts.read(accountId)
      if (account === null || this.#hasPassword.get(accountId, passwordHash) === undefined) return 'stale'
      if (account.disabled) return 'disabled'
      this.#clear.run(now, CLEARED_AT_ONCE)
      this.#insert.run(id, accountId, createdAt, expiresAt)
      this.#clearSurplus.run(accountId, CLEARED_AT_ONCE, MOST_SESSIONS)
      return account
    })
  }

  async get(id: string): Promise<Session | null> {
    const raw = this.#get.get(id)
    return raw === undefined ? null : toRow(raw)
  }

  async list(accountId: string, now: number, { after, limit }: PageRequest): Promise<Page<Session>> {
    const { createdAt, rowid } = placeAfter(after)
    return pageOf(this.#page.all(accountId, createdAt, rowid, now, limit + 1), limit, toRow)
  }

  end(id: string): Promise<boolean> {
    return this.#write(() => this.#delete.run(id).changes > 0)
  }

  endAll(accountId: string, keep: string | null): Promise<number> {
    return this.#write(() => this.#deleteOthers.run(accountId, keep ?? '').changes)
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#writes.run(work, { durable: true })
  }
}

function toRow({ rowid: _, ...row }: RawRow): Session {
  return row
}
