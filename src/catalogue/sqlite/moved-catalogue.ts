import type { Database, SqlValue } from '../../storage/database.ts'
import type { CatalogueToMove, MovedRow, MovedTable } from '../moving.ts'

/** Number of rows that one statement reads or one transaction removes. */
const STEP = 500

interface TableSource {
  /** The `SELECT` list, with the column names of the target database. */
  columns: string
  from: string
  /** Default: all rows. */
  where?: string
  /** Columns of a unique key. Default: the rowid. */
  key?: readonly string[]
}

const DAG = 'backend_id, codec, multihash'
const RECORD = `r.id, r.search_id AS seq, r.account_id, r.cluster_id, r.cid, r.codec, r.multihash, r.root_id, r.type,
  r.status, r.status_at, r.status_code, r.status_reason, r.fetch_id, r.name, r.original_name, r.custom_name, r.meta,
  r.size, r.dag_size, r.charge, r.expires_at, r.created_at, COALESCE(a.rowid, 0) AS list`
const SOURCES: Readonly<Record<MovedTable, TableSource>> = {
  accounts: {
    columns: `id, rowid AS seq, email, name, plan, role, default_cluster, password_hash, disabled, created_at, deleted_at,
      pins, expiring_pins, stored_bytes, kept_bytes`,
    from: 'accounts',
  },
  api_keys: {
    columns: `id, rowid AS seq, account_id, parent_id, name, label, hash, prefix, scopes, ip_allowlist, created_at,
      expires_at, last_used_at, upload, max_uses, uses, max_uses IS NOT NULL AS is_token, proved_at`,
    from: 'api_keys',
  },
  sessions: { columns: 'id, rowid AS seq, account_id, created_at, expires_at, proved_at', from: 'sessions' },
  second_factors: { columns: 'account_id, secret, enabled_at, last_step', from: 'second_factors' },
  password_links: { columns: 'account_id, hash, expires_at', from: 'password_links' },
  identities: { columns: 'issuer, subject, account_id, confirmed_at, refresh_token, refresh_at', from: 'identities' },
  recovery_codes: { columns: 'account_id, hash', from: 'recovery_codes', key: ['account_id', 'hash'] },
  roots: {
    columns: `id, ${DAG}, content_size, dag_size, blocks, charge, file_count, file_count > 0 AS listed, announced_at`,
    from: 'roots',
    where: "state = 'complete'",
  },
  root_files: {
    columns: 'root_id, position, path, codec, multihash, size',
    from: 'root_files',
    where: "EXISTS (SELECT 1 FROM roots WHERE roots.id = root_id AND state = 'complete')",
    key: ['root_id', 'position'],
  },
  fetches: {
    columns: `f.id, f.account_id, f.backend_id, f.codec, f.multihash, f.root_id, 'fetch ' || f.id AS hold_id, f.origins,
      f.attempts, f.last_error, f.blocks, f.bytes, f.charge, r.created_at, f.running, f.whole,
      CASE WHEN r.state = 'complete' THEN r.id END AS held_root_id`,
    from: 'fetches f JOIN roots r ON r.id = f.root_id',
    key: ['f.id'],
  },
  records: {
    columns: RECORD,
    from: 'records r LEFT JOIN accounts a ON a.id = r.account_id',
    key: ['r.search_id'],
  },
  bulk_changes: {
    columns: `id, name, account_id, action, selection, phase, place, total, done, failed, restored, failures,
      freed_bytes, undo_ms, created_at, ended_at, undo_ended`,
    from: 'bulk_changes',
  },
  removed_records: {
    columns: `${RECORD}, r.change_id`,
    from: 'removed_records r LEFT JOIN accounts a ON a.id = r.account_id',
    key: ['r.rowid'],
  },
  removals: { columns: 'id, account_id, codec, multihash, cluster_id, created_by', from: 'removals' },
  placements: {
    columns: `id, ${DAG}, account_id, wanted, generation, placed, unpin_until, anew, wanted_at, entrusted`,
    from: 'placements',
  },
  webhooks: { columns: 'id, account_id, key_id, url, secret, created_at, waiting, dropped', from: 'webhooks' },
  deliveries: {
    columns: `id, webhook_id, account_id, event, record, from_status, created_at, attempts, ended, delivered,
      last_status, last_error, last_at`,
    from: 'deliveries',
  },
  jobs: {
    columns: 'kind, key, queue, account_id, due_at, attempts, last_error',
    from: 'jobs',
    key: ['kind', 'key'],
  },
  egress: { columns: 'account_id, month, domain, bytes', from: 'egress' },
  audit: {
    columns: `id, key, actor, number, created_at, last_at, times, account_id, credential, credential_id, address, action,
      outcome, subject`,
    from: 'audit',
  },
}

export class SqliteMovedCatalogue implements CatalogueToMove {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  count(table: MovedTable): number {
    const { from, where = '1' } = SOURCES[table]
    return (
      this.#db.prepare<[], { count: number }>(`SELECT COUNT(*) AS count FROM ${from} WHERE ${where}`).get()?.count ?? 0
    )
  }

  *batches(table: MovedTable): Iterable<MovedRow[]> {
    const { columns, from, where = '1', key = ['rowid'] } = SOURCES[table]
    const places = key.map((column, i) => `${column} AS place${i}`).join(', ')
    const select = `SELECT ${columns}, ${places} FROM ${from} WHERE ${where}`
    const order = `ORDER BY ${key.join(', ')} LIMIT ${STEP}`
    const marks = key.map(() => '?').join(', ')
    const first = this.#db.prepare<[], Record<string, SqlValue>>(`${select} ${order}`)
    const next = this.#db.prepare<SqlValue[], Record<string, SqlValue>>(
      `${select} AND (${key.join(', ')}) > (${marks}) ${order}`,
    )
    for (let rows = first.all(); rows.length > 0; ) {
      yield rows
      const last = rows.at(-1) ?? {}
      rows = rows.length < STEP ? [] : next.all(...key.map((_, i) => last[`place${i}`] ?? null))
    }
  }

  left(): number {
    return REMOVED.reduce((sum, table) => sum + this.count(table), 0)
  }

  /** Removes some of the moved rows. Runs within the caller's transaction. */
  removeSome(): number {
    for (const table of REMOVED) {
      const some = table === 'recovery_codes' ? '' : `WHERE rowid IN (SELECT rowid FROM ${table} LIMIT ${STEP})`
      const { changes } = this.#db.prepare<[]>(`DELETE FROM ${table} ${some}`).run()
      if (changes > 0) return changes
    }
    this.#db.prepare("INSERT INTO record_search (record_search) VALUES ('delete-all')").run()
    for (const table of ['search_pending', 'search_lists', 'search_runs'])
      this.#db.prepare(`DELETE FROM ${table}`).run()
    return 0
  }
}

/**
 * Webhooks come first, so that the removal of records adds no deliveries. Accounts come last, because other tables
 * refer to them.
 * Roots and their files stay, because the ledger needs them.
 */
const REMOVED = [
  ...(['webhooks', 'deliveries', 'records', 'removals', 'placements', 'fetches'] as const),
  ...(['bulk_changes', 'removed_records'] as const),
  ...(['audit', 'egress', 'recovery_codes', 'password_links', 'identities', 'second_factors', 'sessions'] as const),
  ...(['api_keys', 'accounts'] as const),
]
