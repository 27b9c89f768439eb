import type { Account, AccountChanges, AccountStore } from '../accounts.ts'
import type { Page, PageRequest } from '../page.ts'
import { pageOf, placeAfter } from '../row-cursor.ts'
import type { Postgres } from './postgres.ts'
import type { Sql } from './sql.ts'

type RawRow = Account & { rowid: number }

const COLUMNS = `id, email, name, plan, role, default_cluster AS "defaultCluster", disabled,
  created_at AS "createdAt", seq AS rowid`
const LIVE = 'deleted_at IS NULL'
/** Names the lock of those who would take away an owner: there is always one left. */
const OWNERS_LOCK = 0x4f574e52
/** No account can be given such an email; it frees the one of an account that goes. */
const freedEmail = (id: string): string => `deleted ${id}`

/** The rows of `accounts`, but for the counters of pins and bytes, which belong to what they count. */
export class PostgresAccounts implements AccountStore {
  readonly #database: Postgres

  constructor(database: Postgres) {
    this.#database = database
  }

  async insert(row: Account, passwordHash: string | null): Promise<'inserted' | 'email_taken'> {
    const { id, email, name, plan, role, defaultCluster, disabled, createdAt } = row
    const inserted = await this.#database.command(
      `INSERT INTO accounts (id, email, email_key, name, plan, role, default_cluster, disabled, created_at, password_hash)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (email_key) DO NOTHING`,
      [id, email, emailKey(email), name, plan, role, defaultCluster, disabled, createdAt, passwordHash],
    )
    return inserted === 1 ? 'inserted' : 'email_taken'
  }

  async get(id: string): Promise<Account | null> {
    return rowOrNull(await this.#read(`SELECT ${COLUMNS} FROM accounts WHERE id = $1 AND ${LIVE}`, id))
  }

  async findByEmail(email: string): Promise<Account | null> {
    const text = `SELECT ${COLUMNS} FROM accounts WHERE email_key = $1 AND ${LIVE}`
    return rowOrNull(await this.#read(text, emailKey(email)))
  }

  async findOwner(): Promise<Account | null> {
    return rowOrNull(
      await this.#database.reading.first<RawRow>(
        `SELECT ${COLUMNS} FROM accounts WHERE role = 'owner' AND ${LIVE} ORDER BY created_at, seq LIMIT 1`,
      ),
    )
  }

  async list({ after, limit }: PageRequest): Promise<Page<Account>> {
    const { createdAt, rowid } = placeAfter(after)
    const raw = await this.#database.reading.all<RawRow>(
      `SELECT ${COLUMNS} FROM accounts WHERE ${LIVE} AND (created_at, seq) > ($1, $2) ORDER BY created_at, seq LIMIT $3`,
      [createdAt, rowid, limit + 1],
    )
    return pageOf(raw, limit, toRow)
  }

  async slice(offset: number, limit: number): Promise<{ rows: Account[]; total: number }> {
    const { reading } = this.#database
    const counted = await reading.first<{ count: number }>(`SELECT COUNT(*) AS count FROM accounts WHERE ${LIVE}`)
    const total = counted?.count ?? 0
    const wanted = Math.max(0, Math.min(limit, total - offset))
    if (wanted === 0) return { rows: [], total }
    // Rows that are passed over cost time too, so the list is read from the nearer end.
    const behind = total - offset - wanted
    const isFirstHalf = offset <= behind
    const order = isFirstHalf ? 'created_at, seq' : 'created_at DESC, seq DESC'
    const raw = await reading.all<RawRow>(
      `SELECT ${COLUMNS} FROM accounts WHERE ${LIVE} ORDER BY ${order} LIMIT $1 OFFSET $2`,
      [wanted, isFirstHalf ? offset : behind],
    )
    return { rows: (isFirstHalf ? raw : raw.reverse()).map(toRow), total }
  }

  change(id: string, changes: AccountChanges): Promise<Account | 'no_account' | 'email_taken' | 'last_owner'> {
    return this.#database.transaction(async sql => {
      if (changes.disabled === true) await lockOwners(sql)
      const before = await lockedAccount(sql, id)
      if (before === null) return 'no_account'
      const after = { ...before, ...changes }
      if (after.disabled && (await isLastOwner(sql, before))) return 'last_owner'
      const { email, name, plan, defaultCluster, disabled } = after
      const holder = await sql.first<{ id: string }>('SELECT id FROM accounts WHERE email_key = $1', [emailKey(email)])
      if (holder !== undefined && holder.id !== id) return 'email_taken'
      await sql.run(
        `UPDATE accounts SET email = $2, email_key = $3, name = $4, plan = $5, default_cluster = $6, disabled = $7
         WHERE id = $1`,
        [id, email, emailKey(email), name, plan, defaultCluster, disabled],
      )
      return after
    })
  }

  async passwordHash(id: string): Promise<string | null> {
    const text = `SELECT password_hash AS "passwordHash" FROM accounts WHERE id = $1 AND ${LIVE}`
    return (await this.#database.reading.first<{ passwordHash: string | null }>(text, [id]))?.passwordHash ?? null
  }

  setPassword(id: string, hash: string, keepSession: string | null): Promise<boolean> {
    return this.#database.transaction(async sql => {
      const changed = await sql.run(`UPDATE accounts SET password_hash = $2 WHERE id = $1 AND ${LIVE}`, [id, hash])
      await sql.run('DELETE FROM sessions WHERE account_id = $1 AND id <> $2', [id, keepSession ?? ''])
      return changed > 0
    })
  }

  async replacePassword(id: string, former: string, hash: string): Promise<boolean> {
    const text = `UPDATE accounts SET password_hash = $3 WHERE id = $1 AND password_hash = $2 AND ${LIVE}`
    return (await this.#database.command(text, [id, former, hash])) > 0
  }

  markDeleted(id: string, now: number): Promise<'marked' | 'no_account' | 'last_owner'> {
    return this.#database.transaction(async sql => {
      await lockOwners(sql)
      const account = await lockedAccount(sql, id)
      if (account === null) return 'no_account'
      if (await isLastOwner(sql, account)) return 'last_owner'
      await sql.run(
        `UPDATE accounts SET deleted_at = $2, email = $3, email_key = $3, name = NULL, password_hash = NULL,
           disabled = TRUE WHERE id = $1`,
        [id, now, freedEmail(id)],
      )
      await sql.run('DELETE FROM second_factors WHERE account_id = $1', [id])
      await sql.run('DELETE FROM recovery_codes WHERE account_id = $1', [id])
      return 'marked'
    })
  }

  async deleted(limit: number): Promise<string[]> {
    const text = 'SELECT id FROM accounts WHERE deleted_at IS NOT NULL ORDER BY deleted_at LIMIT $1'
    return (await this.#database.reading.all<{ id: string }>(text, [limit])).map(({ id }) => id)
  }

  purge(id: string, limit: number): Promise<boolean> {
    return this.#database.transaction(async sql => {
      if ((await sql.first(`SELECT 1 FROM accounts WHERE id = $1 AND ${LIVE}`, [id])) !== undefined) return false
      const some = (table: string): string =>
        `DELETE FROM ${table} WHERE id = ANY(ARRAY(SELECT id FROM ${table} WHERE account_id = $1 LIMIT $2))`
      const keys = await sql.run(some('api_keys'), [id, limit])
      const sessions = await sql.run(some('sessions'), [id, limit])
      // Each with all that it has still to tell.
      const webhooks = await sql.run(some('webhooks'), [id, 1])
      return keys === limit || sessions === limit || webhooks > 0
    })
  }

  async forget(id: string): Promise<boolean> {
    const nothingOf = ['api_keys', 'sessions', 'records'].map(
      table => `NOT EXISTS (SELECT 1 FROM ${table} WHERE account_id = accounts.id)`,
    )
    const text = `DELETE FROM accounts WHERE id = $1 AND deleted_at IS NOT NULL AND ${nothingOf.join(' AND ')}`
    return (await this.#database.command(text, [id])) > 0
  }

  #read(text: string, value: string): Promise<RawRow | undefined> {
    return this.#database.reading.first<RawRow>(text, [value])
  }
}

/** A live account, which nothing else changes until the transaction ends; null if there is none. */
export async function lockedAccount(sql: Sql, id: string): Promise<Account | null> {
  return rowOrNull(
    await sql.first<RawRow>(`SELECT ${COLUMNS} FROM accounts WHERE id = $1 AND ${LIVE} FOR UPDATE`, [id]),
  )
}

async function lockOwners(sql: Sql): Promise<void> {
  await sql.run('SELECT pg_advisory_xact_lock($1)', [OWNERS_LOCK])
}

async function isLastOwner(sql: Sql, { id, role, disabled }: Account): Promise<boolean> {
  if (role !== 'owner' || disabled) return false
  const text = `SELECT 1 FROM accounts WHERE role = 'owner' AND ${LIVE} AND NOT disabled AND id <> $1 LIMIT 1`
  return (await sql.first(text, [id])) === undefined
}

/** Upper and lower case are the same, as far as ASCII goes. */
export function emailKey(email: string): string {
  return email.replace(/[A-Z]/g, letter => letter.toLowerCase())
}

function rowOrNull(raw: RawRow | undefined): Account | null {
  return raw === undefined ? null : toRow(raw)
}

function toRow({ rowid: _, ...row }: RawRow): Account {
  return row
}
