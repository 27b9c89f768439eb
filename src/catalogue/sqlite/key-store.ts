import type { Database, Statement } from '../../storage/database.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import {
  EXPIRED_KEYS_KEPT,
  type KeyRefusal,
  type KeyRow,
  type KeyStore,
  type NewKeyRow,
  type UploadGrant,
} from '../keys.ts'
import type { Page, PageRequest } from '../page.ts'
import { pageOf, placeAfter } from '../row-cursor.ts'

type RawRow = Omit<KeyRow, 'scopes' | 'ipAllowlist' | 'upload'> & {
  scopes: string
  ipAllowlist: string
  upload: string | null
  rowid: number
}
type Values = [
  ...[string, string, string | null, string, string | null, Uint8Array, string, string, string],
  ...[number, number | null, number | null, string | null, number | null],
]

const COLUMNS = `k.id, k.account_id AS accountId, k.parent_id AS parentId, p.name AS parent, k.name, k.label, k.hash,
  k.prefix, k.scopes, k.ip_allowlist AS ipAllowlist, k.created_at AS createdAt, k.expires_at AS expiresAt,
  k.last_used_at AS lastUsedAt, k.upload, k.uses, k.rowid AS rowid`
const KEYS = 'api_keys k LEFT JOIN api_keys p ON p.id = k.parent_id'
/** Old expired keys that one insertion removes at most. */
const CLEARED_AT_ONCE = 100

/** The rows of `api_keys`. */
export class SqliteKeys implements KeyStore {
  readonly #writes: WriteQueue
  readonly #hasAccount: Statement<[string], unknown>
  readonly #isLive: Statement<[string, string, number], unknown>
  readonly #countForever: Statement<[string, number, number], { count: number }>
  readonly #countPassing: Statement<[string, number, number, number], { count: number }>
  readonly #insert: Statement<Values, unknown>
  readonly #delete: Statement<[string], unknown>
  readonly #clear: Statement<[string, number, number, number, number], unknown>
  readonly #rotate: Statement<[Uint8Array, string, string, string, number | null, string], unknown>
  readonly #findByHash: Statement<[Uint8Array], RawRow>
  readonly #findByName: Statement<[string, string], RawRow>
  readonly #page: Statement<[string, number, number, number, number], RawRow>
  readonly #revoke: Statement<[string], unknown>
  readonly #setLastUsed: Statement<[number, string], unknown>
  readonly #uses: Statement<[string], { uses: number }>

  constructor(db: Database, writes: WriteQueue) {
    this.#writes = writes
    this.#hasAccount = db.prepare('SELECT 1 FROM accounts WHERE id = ? AND deleted_at IS NULL')
    this.#isLive = db.prepare(`
      SELECT 1 FROM api_keys WHERE id = ? AND account_id = ? AND (expires_at IS NULL OR expires_at > ?)`)
    const count = (live: string): string =>
      `SELECT COUNT(*) AS count FROM (SELECT 1 FROM api_keys WHERE account_id = ? AND (max_uses IS NULL) = ? AND ${live} LIMIT ?)`
    this.#countForever = db.prepare(count('expires_at IS NULL'))
    this.#countPassing = db.prepare(count('expires_at > ?'))
    this.#insert = db.prepare(`
      INSERT INTO api_keys (id, account_id, parent_id, name, label, hash, prefix, scopes, ip_allowlist, created_at,
        expires_at, last_used_at, upload, max_uses)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#delete = db.prepare('DELETE FROM api_keys WHERE id = ?')
    this.#clear = db.prepare(`
      DELETE FROM api_keys WHERE rowid IN (
        SELECT rowid FROM api_keys WHERE account_id = ? AND (max_uses IS NULL) = ? AND expires_at <= ?
        ORDER BY expires_at DESC LIMIT ? OFFSET ?)`)
    this.#rotate = db.prepare(`
      UPDATE api_keys SET hash = ?, prefix = ?, scopes = ?, ip_allowlist = ?, expires_at = ?, parent_id = NULL
      WHERE id = ?`)
    this.#findByHash = db.prepare(`SELECT ${COLUMNS} FROM ${KEYS} WHERE k.hash = ?`)
    this.#findByName = db.prepare(`SELECT ${COLUMNS} FROM ${KEYS} WHERE k.account_id = ? AND k.name = ?`)
    this.#page = db.prepare(`
      SELECT ${COLUMNS} FROM ${KEYS} WHERE k.account_id = ? AND (k.max_uses IS NULL) = ? AND (k.created_at, k.rowid) > (?, ?)
      ORDER BY k.created_at, k.rowid LIMIT ?`)
    this.#revoke = db.prepare(`
      WITH RECURSIVE minted (id) AS (
        SELECT id FROM api_keys WHERE id = ?
        UNION SELECT k.id FROM minted JOIN api_keys k ON k.parent_id = minted.id)
      DELETE FROM api_keys WHERE id IN (SELECT id FROM minted)`)
    this.#setLastUsed = db.prepare('UPDATE api_keys SET last_used_at = ? WHERE id = ?')
    this.#uses = db.prepare('SELECT uses FROM api_keys WHERE id = ? AND max_uses IS NOT NULL')
  }

  insert(key: NewKeyRow, { now, maxKeys }: { now: number; maxKeys: number | null }): Promise<'inserted' | KeyRefusal> {
    return this.#write(() => {
      const { accountId, parentId, name } = key
      if (this.#hasAccount.get(accountId) === undefined) return 'no_account'
      if (parentId !== null && this.#isLive.get(parentId, accountId, now) === undefined) return 'no_parent'
      const former = this.#findByName.get(accountId, name)
      if (former !== undefined && this.#isLive.get(former.id, accountId, now) !== undefined) return 'name_taken'
      const isOther = Number(key.upload === null)
      if (maxKeys !== null && this.#countLive(accountId, isOther, now, maxKeys) >= maxKeys) return 'too_many'
      if (former !== undefined) this.#delete.run(former.id)
      this.#put(key)
      this.#clear.run(accountId, isOther, now, CLEARED_AT_ONCE, EXPIRED_KEYS_KEPT)
      return 'inserted'
    })
  }

  adopt(key: NewKeyRow): Promise<KeyRow> {
    return this.#write(() => {
      const same = this.#findByHash.get(key.hash)
      if (same !== undefined) return toRow(same)
      const former = this.#findByName.get(key.accountId, key.name)
      if (former === undefined) {
        this.#put(key)
        return { ...key, parent: null, uses: 0 }
      }
      const { hash, prefix, scopes, ipAllowlist, expiresAt } = key
      this.#rotate.run(hash, prefix, JSON.stringify(scopes), JSON.stringify(ipAllowlist), expiresAt, former.id)
      return { ...toRow(former), hash, prefix, scopes, ipAllowlist, expiresAt, parentId: null, parent: null }
    })
  }

  async findByHash(hash: Uint8Array): Promise<KeyRow | null> {
    return rowOrNull(this.#findByHash.get(hash))
  }

  async findByName(accountId: string, name: string): Promise<KeyRow | null> {
    return rowOrNull(this.#findByName.get(accountId, name))
  }

  async list(
    accountId: string,
    { after, limit, isUpload = false }: PageRequest & { isUpload?: boolean },
  ): Promise<Page<KeyRow>> {
    const { createdAt, rowid } = placeAfter(after)
    return pageOf(this.#page.all(accountId, Number(!isUpload), createdAt, rowid, limit + 1), limit, toRow)
  }

  async uses(id: string): Promise<number | null> {
    return this.#uses.get(id)?.uses ?? null
  }

  revoke(id: string): Promise<number> {
    return this.#write(() => this.#revoke.run(id).changes)
  }

  async noteUse(id: string, at: number): Promise<void> {
    await this.#writes.run(() => this.#setLastUsed.run(at, id), { durable: false })
  }

  /** How many there are, as far as `most`. */
  #countLive(accountId: string, isOther: number, now: number, most: number): number {
    const forever = this.#countForever.get(accountId, isOther, most)?.count ?? 0
    return forever + (this.#countPassing.get(accountId, isOther, now, most)?.count ?? 0)
  }

  #put(key: NewKeyRow): void {
    this.#insert.run(
      key.id,
      key.accountId,
      key.parentId,
      key.name,
      key.label,
      key.hash,
      key.prefix,
      JSON.stringify(key.scopes),
      JSON.stringify(key.ipAllowlist),
      key.createdAt,
      key.expiresAt,
      key.lastUsedAt,
      key.upload === null ? null : JSON.stringify(key.upload),
      key.upload?.maxUses ?? null,
    )
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#writes.run(work, { durable: true })
  }
}

function rowOrNull(raw: RawRow | undefined): KeyRow | null {
  return raw === undefined ? null : toRow(raw)
}

function toRow({ rowid: _, ...raw }: RawRow): KeyRow {
  return {
    ...raw,
    scopes: JSON.parse(raw.scopes) as string[],
    ipAllowlist: JSON.parse(raw.ipAllowlist) as string[],
    upload: raw.upload === null ? null : (JSON.parse(raw.upload) as UploadGrant),
  }
}
