import type { Database, Statement } from '../../storage/database.ts'

export interface KeyRow {
  id: string
  accountId: string
  name: string
  label: string | null
  /** SHA-256 of the secret. */
  hash: Uint8Array
  prefix: string
  scopes: string[]
  ipAllowlist: string[]
  createdAt: number
  expiresAt: number | null
  lastUsedAt: number | null
}

type RawRow = Omit<KeyRow, 'scopes' | 'ipAllowlist'> & { scopes: string; ipAllowlist: string }
type Values = [
  string,
  string,
  string,
  string | null,
  Uint8Array,
  string,
  string,
  string,
  number,
  number | null,
  number | null,
]

const COLUMNS = `id, account_id AS accountId, name, label, hash, prefix, scopes, ip_allowlist AS ipAllowlist,
  created_at AS createdAt, expires_at AS expiresAt, last_used_at AS lastUsedAt`

/** The rows of `api_keys`. */
export class KeyTable {
  readonly #insert: Statement<Values, unknown>
  readonly #delete: Statement<[string], unknown>
  readonly #findByHash: Statement<[Uint8Array], RawRow>
  readonly #find: Statement<[string, string], RawRow>
  readonly #list: Statement<[string], RawRow>
  readonly #setLastUsed: Statement<[number, string], unknown>

  constructor(db: Database) {
    this.#insert = db.prepare(`
      INSERT INTO api_keys (id, account_id, name, label, hash, prefix, scopes, ip_allowlist, created_at, expires_at,
        last_used_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#delete = db.prepare('DELETE FROM api_keys WHERE id = ?')
    this.#findByHash = db.prepare(`SELECT ${COLUMNS} FROM api_keys WHERE hash = ?`)
    this.#find = db.prepare(`SELECT ${COLUMNS} FROM api_keys WHERE account_id = ? AND name = ?`)
    this.#list = db.prepare(`SELECT ${COLUMNS} FROM api_keys WHERE account_id = ? ORDER BY created_at, rowid`)
    this.#setLastUsed = db.prepare('UPDATE api_keys SET last_used_at = ? WHERE id = ?')
  }

  insert(row: KeyRow): void {
    this.#insert.run(
      row.id,
      row.accountId,
      row.name,
      row.label,
      row.hash,
      row.prefix,
      JSON.stringify(row.scopes),
      JSON.stringify(row.ipAllowlist),
      row.createdAt,
      row.expiresAt,
      row.lastUsedAt,
    )
  }

  /** Returns whether there was such a key. */
  delete(id: string): boolean {
    return this.#delete.run(id).changes > 0
  }

  findByHash(hash: Uint8Array): KeyRow | undefined {
    return toRow(this.#findByHash.get(hash))
  }

  /** Names are exact. */
  find(accountId: string, name: string): KeyRow | undefined {
    return toRow(this.#find.get(accountId, name))
  }

  /** Oldest first. */
  list(accountId: string): KeyRow[] {
    return this.#list.all(accountId).map(parseRow)
  }

  setLastUsed(id: string, at: number): void {
    this.#setLastUsed.run(at, id)
  }
}

function toRow(raw: RawRow | undefined): KeyRow | undefined {
  return raw === undefined ? undefined : parseRow(raw)
}

function parseRow(raw: RawRow): KeyRow {
  return {
    ...raw,
    scopes: JSON.parse(raw.scopes) as string[],
    ipAllowlist: JSON.parse(raw.ipAllowlist) as string[],
  }
}
