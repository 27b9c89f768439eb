import type { Database, Statement } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import type { Account, AccountChanges, AccountStore } from '../accounts.ts'
import type { Page, PageRequest } from '../page.ts'
import { pageOf, placeAfter } from '../row-cursor.ts'

type RawRow = Omit<Account, 'disabled'> & { disabled: number; rowid: number }
type Values = [string, string, string | null, string, string, string | null, number, number, string | null]

const COLUMNS = `id, email, name, plan, role, default_cluster AS defaultCluster, disabled, created_at AS createdAt, rowid`
const LIVE = 'deleted_at IS NULL'
/** No account can be given such an email; it frees the one of an account that goes. */
const freedEmail = (id: string): string => `deleted ${id}`

/** The rows of `accounts`, but for the counters of pins and bytes, which belong to what they count. */
export class SqliteAccounts implements AccountStore {
  readonly #writes: WriteQueue
  readonly #insert: Statement<Values, unknown>
  readonly #get: Statement<[string], RawRow>
  readonly #findByEmail: Statement<[string], RawRow>
  readonly #findOwner: Statement<[], RawRow>
  readonly #otherOwner: Statement<[string], unknown>
  readonly #page: Statement<[number, number, number], RawRow>
  readonly #slice: Statement<[number, number], RawRow>
  readonly #lastSlice: Statement<[number, number], RawRow>
  readonly #count: Statement<[], { count: number }>
  readonly #update: Statement<[string, string | null, string, string | null, number, string], unknown>
  readonly #passwordHash: Statement<[string], { passwordHash: string | null }>
  readonly #setPasswordHash: Statement<[string, string], unknown>
  readonly #replacePasswordHash: Statement<[string, string, string], unknown>
  readonly #endSessions: Statement<[string, string], unknown>
  readonly #mark: Statement<[number, string, string], unknown>
  readonly #dropFactor: Statement<[string], unknown>
  readonly #dropCodes: Statement<[string], unknown>
  readonly #deleted: Statement<[number], { id: string }>
  readonly #purgeKeys: Statement<[string, number], unknown>
  readonly #purgeSessions: Statement<[string, number], unknown>
  readonly #purgeWebhook: Statement<[string], unknown>
  readonly #forget: Statement<[string], unknown>

  constructor(db: Database, writes: WriteQueue) {
    this.#writes = writes
    this.#insert = db.prepare(`
      INSERT INTO accounts (id, email, name, plan, role, default_cluster, disabled, created_at, password_hash)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM accounts WHERE id = ? AND ${LIVE}`)
    this.#findByEmail = db.prepare(`SELECT ${COLUMNS} FROM accounts WHERE email = ? AND ${LIVE}`)
    const owners = `FROM accounts WHERE role = 'owner' AND ${LIVE}`
    this.#findOwner = db.prepare(`SELECT ${COLUMNS} ${owners} ORDER BY created_at, rowid LIMIT 1`)
    this.#otherOwner = db.prepare(`SELECT 1 ${owners} AND disabled = 0 AND id <> ? LIMIT 1`)
    const all = `SELECT ${COLUMNS} FROM accounts WHERE ${LIVE}`
    this.#page = db.prepare(`${all} AND (created_at, rowid) > (?, ?) ORDER BY created_at, rowid LIMIT ?`)
    this.#slice = db.prepare(`${all} ORDER BY created_at, rowid LIMIT ? OFFSET ?`)
    this.#lastSlice = db.prepare(`${all} ORDER BY created_at DESC, rowid DESC LIMIT ? OFFSET ?`)
    this.#count = db.prepare(`SELECT COUNT(*) AS count FROM accounts WHERE ${LIVE}`)
    this.#update = db.prepare(`
      UPDATE accounts SET email = ?, name = ?, plan = ?, default_cluster = ?, disabled = ? WHERE id = ?`)
    this.#passwordHash = db.prepare(`SELECT password_hash AS passwordHash FROM accounts WHERE id = ? AND ${LIVE}`)
    this.#setPasswordHash = db.prepare(`UPDATE accounts SET password_hash = ? WHERE id = ? AND ${LIVE}`)
    this.#replacePasswordHash = db.prepare(`
      UPDATE accounts SET password_hash = ? WHERE id = ? AND password_hash = ? AND ${LIVE}`)
    this.#endSessions = db.prepare('DELETE FROM sessions WHERE account_id = ? AND id <> ?')
    this.#mark = db.prepare(`
      UPDATE accounts SET deleted_at = ?, email = ?, name = NULL, password_hash = NULL, disabled = 1 WHERE id = ?`)
    this.#dropFactor = db.prepare('DELETE FROM second_factors WHERE account_id = ?')
    this.#dropCodes = db.prepare('DELETE FROM recovery_codes WHERE account_id = ?')
    this.#deleted = db.prepare('SELECT id FROM accounts WHERE deleted_at IS NOT NULL ORDER BY deleted_at LIMIT ?')
    const some = (table: string): string =>
      `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE account_id = ? LIMIT ?)`
    this.#purgeKeys = db.prepare(some('api_keys'))
    this.#purgeWebhook = db.prepare(
      'DELETE FROM webhooks WHERE id = (SELECT id FROM webhooks WHERE account_id = ? LIMIT 1)',
    )
    this.#purgeSessions = db.prepare(some('sessions'))
    const nothingOf = ['api_keys', 'sessions', 'records'].map(
      table => `NOT EXISTS (SELECT 1 FROM ${table} WHERE account_id = accounts.id)`,
    )
    this.#forget = db.prepare(`
      DELETE FROM accounts WHERE id = ? AND deleted_at IS NOT NULL AND ${nothingOf.join(' AND ')}`)
  }

  insert(row: Account, passwordHash: string | null): Promise<'inserted' | 'email_taken'> {
    return this.#write(() => {
      if (this.#findByEmail.get(row.email) !== undefined) return 'email_taken'
      const { id, email, name, plan, role, defaultCluster, disabled, createdAt } = row
      this.#insert.run(id, email, name, plan, role, defaultCluster, disabled ? 1 : 0, createdAt, passwordHash)
      return 'inserted'
    })
  }

  async get(id: string): Promise<Account | null> {
    return this.read(id)
  }

  /** What {@link get} resolves with, for those who share the database. */
  read(id: string): Account | null {
    return rowOrNull(this.#get.get(id))
  }

  async findByEmail(email: string): Promise<Account | null> {
    return rowOrNull(this.#findByEmail.get(email))
  }

  async findOwner(): Promise<Account | null> {
    return rowOrNull(this.#findOwner.get())
  }

  async list({ after, limit }: PageRequest): Promise<Page<Account>> {
    const { createdAt, rowid } = placeAfter(after)
    return pageOf(this.#page.all(createdAt, rowid, limit + 1), limit, toRow)
  }

  async slice(offset: number, limit: number): Promise<{ rows: Account[]; total: number }> {
    const total = this.#count.get()?.count ?? 0
    const wanted = Math.max(0, Math.min(limit, total - offset))
    if (wanted === 0) return { rows: [], total }
    // Rows that are passed over cost time too, so the list is read from the nearer end.
    const behind = total - offset - wanted
    const raw = offset <= behind ? this.#slice.all(wanted, offset) : this.#lastSlice.all(wanted, behind).reverse()
    return { rows: raw.map(toRow), total }
  }

  change(id: string, changes: AccountChanges): Promise<Account | 'no_account' | 'email_taken' | 'last_owner'> {
    return this.#write(() => {
      const before = this.read(id)
      if (before === null) return 'no_account'
      const after = { ...before, ...changes }
      const holder = this.#findByEmail.get(after.email)
      if (holder !== undefined && holder.id !== id) return 'email_taken'
      if (after.disabled && this.#isLastOwner(before)) return 'last_owner'
      this.#update.run(after.email, after.name, after.plan, after.defaultCluster, after.disabled ? 1 : 0, id)
      return after
    })
  }

  async passwordHash(id: string): Promise<string | null> {
    return this.#passwordHash.get(id)?.passwordHash ?? null
  }

  setPassword(id: string, hash: string, keepSession: string | null): Promise<boolean> {
    return this.#write(() => {
      this.#endSessions.run(id, keepSession ?? '')
      return this.#setPasswordHash.run(hash, id).changes > 0
    })
  }

  replacePassword(id: string, former: string, hash: string): Promise<boolean> {
    return this.#write(() => this.#replacePasswordHash.run(hash, id, former).changes > 0)
  }

  markDeleted(id: string, now: number): Promise<'marked' | 'no_account' | 'last_owner'> {
    return this.#write(() => {
      const account = this.read(id)
      if (account === null) return 'no_account'
      if (this.#isLastOwner(account)) return 'last_owner'
      this.#mark.run(now, freedEmail(id), id)
      this.#dropFactor.run(id)
      this.#dropCodes.run(id)
      return 'marked'
    })
  }

  async deleted(limit: number): Promise<string[]> {
    return this.#deleted.all(limit).map(({ id }) => id)
  }

  purge(id: string, limit: number): Promise<boolean> {
    return this.#write(() => {
      if (this.#get.get(id) !== undefined) return false
      const keys = this.#purgeKeys.run(id, limit).changes
      const sessions = this.#purgeSessions.run(id, limit).changes
      // Each with all that it has still to tell.
      const webhooks = this.#purgeWebhook.run(id).changes
      return keys === limit || sessions === limit || webhooks > 0
    })
  }

  forget(id: string): Promise<boolean> {
    return this.#write(() => this.#forget.run(id).changes > 0)
  }

  #isLastOwner({ id, role, disabled }: Account): boolean {
    return role === 'owner' && !disabled && this.#otherOwner.get(id) === undefined
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#writes.run(work, { durable: true })
  }
}

function rowOrNull(raw: RawRow | undefined): Account | null {
  return raw === undefined ? null : toRow(raw)
}

function toRow({ rowid: _, ...raw }: RawRow): Account {
  return { ...raw, disabled: raw.disabled !== 0 }
}
