import { EXPIRED_KEYS_KEPT, type KeyRefusal, type KeyRow, type KeyStore, type NewKeyRow } from '../keys.ts'
import type { Page, PageRequest } from '../page.ts'
import { pageOf, placeAfter } from '../row-cursor.ts'
import { lockedAccount } from './accounts.ts'
import type { Postgres } from './postgres.ts'
import type { Sql } from './sql.ts'

type RawRow = KeyRow & { rowid: number }

const COLUMNS = `k.id, k.account_id AS "accountId", k.parent_id AS "parentId", p.name AS parent, k.name, k.label, k.hash,
  k.prefix, k.scopes, k.ip_allowlist AS "ipAllowlist", k.created_at AS "createdAt", k.expires_at AS "expiresAt",
  k.last_used_at AS "lastUsedAt", k.upload, k.uses, k.seq AS rowid`
const KEYS = 'api_keys k LEFT JOIN api_keys p ON p.id = k.parent_id'
const BY_HASH = `SELECT ${COLUMNS} FROM ${KEYS} WHERE k.hash = $1`
const BY_NAME = `SELECT ${COLUMNS} FROM ${KEYS} WHERE k.account_id = $1 AND k.name = $2`
const LIVE = '(expires_at IS NULL OR expires_at > $3)'
/** Old expired keys that one insertion removes at most. */
const CLEARED_AT_ONCE = 100

/** The rows of `api_keys`. What makes or removes keys of an account holds the lock of its row. */
export class PostgresKeys implements KeyStore {
  readonly #database: Postgres

  constructor(database: Postgres) {
    this.#database = database
  }

  insert(key: NewKeyRow, limits: { now: number; maxKeys: number | null }): Promise<'inserted' | KeyRefusal> {
    const { accountId, parentId, name } = key
    return this.#database.transaction(async sql => {
      if ((await lockedAccount(sql, accountId)) === null) return 'no_account'
      if (parentId !== null && !(await isLive(sql, parentId, accountId, limits.now))) return 'no_parent'
      const former = await sql.first<RawRow>(BY_NAME, [accountId, name])
      if (former !== undefined && (await isLive(sql, former.id, accountId, limits.now))) return 'name_taken'
      if (await isFull(sql, key, limits)) return 'too_many'
      if (former !== undefined) await sql.run('DELETE FROM api_keys WHERE id = $1', [former.id])
      await put(sql, key)
      await clear(sql, key, limits.now)
      return 'inserted'
    }, accountId)
  }

  adopt(key: NewKeyRow): Promise<KeyRow> {
    return this.#database.transaction(async sql => {
      await lockedAccount(sql, key.accountId)
      const same = await sql.first<RawRow>(BY_HASH, [key.hash])
      if (same !== undefined) return toRow(same)
      const former = await sql.first<RawRow>(BY_NAME, [key.accountId, key.name])
      if (former === undefined) {
        await put(sql, key)
        return { ...key, parent: null, uses: 0 }
      }
      const { hash, prefix, scopes, ipAllowlist, expiresAt } = key
      await sql.run(
        `UPDATE api_keys SET hash = $2, prefix = $3, scopes = $4, ip_allowlist = $5, expires_at = $6, parent_id = NULL
         WHERE id = $1`,
        [former.id, hash, prefix, scopes, ipAllowlist, expiresAt],
      )
      return { ...toRow(former), hash, prefix, scopes, ipAllowlist, expiresAt, parentId: null, parent: null }
    }, key.accountId)
  }

  async findByHash(hash: Uint8Array): Promise<KeyRow | null> {
    return rowOrNull(await this.#database.reading.first<RawRow>(BY_HASH, [hash]))
  }

  async findByName(accountId: string, name: string): Promise<KeyRow | null> {
    return rowOrNull(await this.#database.reading.first<RawRow>(BY_NAME, [accountId, name]))
  }

  async list(accountId: string, request: PageRequest & { isUpload?: boolean }): Promise<Page<KeyRow>> {
    const { after, limit, isUpload = false } = request
    const { createdAt, rowid } = placeAfter(after)
    const raw = await this.#database.reading.all<RawRow>(
      `SELECT ${COLUMNS} FROM ${KEYS}
       WHERE k.account_id = $1 AND k.is_token = $2 AND (k.created_at, k.seq) > ($3, $4)
       ORDER BY k.created_at, k.seq LIMIT $5`,
      [accountId, isUpload, createdAt, rowid, limit + 1],
    )
    return pageOf(raw, limit, toRow)
  }

  async uses(id: string): Promise<number | null> {
    const text = 'SELECT uses FROM api_keys WHERE id = $1 AND is_token'
    return (await this.#database.reading.first<{ uses: number }>(text, [id]))?.uses ?? null
  }

  revoke(id: string): Promise<number> {
    return this.#database.transaction(async sql => {
      const key = await sql.first<{ accountId: string }>(
        'SELECT account_id AS "accountId" FROM api_keys WHERE id = $1',
        [id],
      )
      if (key === undefined) return 0
      // Nothing of it mints meanwhile, also where the account is marked deleted.
      await sql.run('SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE', [key.accountId])
      return sql.run(
        `WITH RECURSIVE minted (id) AS (
           SELECT id FROM api_keys WHERE id = $1
           UNION SELECT k.id FROM minted JOIN api_keys k ON k.parent_id = minted.id)
         DELETE FROM api_keys WHERE id IN (SELECT id FROM minted)`,
        [id],
      )
    })
  }

  async noteUse(id: string, at: number): Promise<void> {
    await this.#database.command('UPDATE api_keys SET last_used_at = $2 WHERE id = $1', [id, at])
  }
}

async function isLive(sql: Sql, id: string, accountId: string, now: number): Promise<boolean> {
  const text = `SELECT 1 FROM api_keys WHERE id = $1 AND account_id = $2 AND ${LIVE}`
  return (await sql.first(text, [id, accountId, now])) !== undefined
}

/** Whether the account has as many live keys of the kind as it may; they are counted only so far. */
async function isFull(sql: Sql, key: NewKeyRow, limits: { now: number; maxKeys: number | null }): Promise<boolean> {
  const { now, maxKeys } = limits
  if (maxKeys === null) return false
  const text = `SELECT COUNT(*) AS count FROM (
    SELECT 1 FROM api_keys WHERE account_id = $1 AND is_token = $2 AND ${LIVE} LIMIT $4) AS live`
  const counted = await sql.first<{ count: number }>(text, [key.accountId, key.upload !== null, now, maxKeys])
  return (counted?.count ?? 0) >= maxKeys
}

async function clear(sql: Sql, key: NewKeyRow, now: number): Promise<void> {
  await sql.run(
    `DELETE FROM api_keys WHERE id = ANY(ARRAY(
       SELECT id FROM api_keys WHERE account_id = $1 AND is_token = $2 AND expires_at <= $3
       ORDER BY expires_at DESC LIMIT $4 OFFSET $5))`,
    [key.accountId, key.upload !== null, now, CLEARED_AT_ONCE, EXPIRED_KEYS_KEPT],
  )
}

async function put(sql: Sql, key: NewKeyRow): Promise<void> {
  const { id, accountId, parentId, name, label, hash, prefix, scopes, ipAllowlist, createdAt, expiresAt } = key
  const upload = key.upload === null ? null : JSON.stringify(key.upload)
  await sql.run(
    `INSERT INTO api_keys (id, account_id, parent_id, name, label, hash, prefix, scopes, ip_allowlist, created_at,
       expires_at, last_used_at, upload, max_uses, is_token)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    [
      ...[id, accountId, parentId, name, label, hash, prefix, scopes, ipAllowlist, createdAt, expiresAt],
      ...[key.lastUsedAt, upload, key.upload?.maxUses ?? null, upload !== null],
    ],
  )
}

function rowOrNull(raw: RawRow | undefined): KeyRow | null {
  return raw === undefined ? null : toRow(raw)
}

function toRow({ rowid: _, ...row }: RawRow): KeyRow {
  return row
}
