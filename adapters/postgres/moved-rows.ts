import type { MovedRow, MovedTable } from '../../src/catalogue/moving.ts'
import { emailKey } from '../../src/catalogue/rules/account-rules.ts'
import { folded } from '../../src/domain/search-words.ts'
import { rowIdentity, wordsOfRecord } from './record-rows.ts'
import type { Sql, SqlParam } from './sql.ts'

type Value = MovedRow[string]

const RECORD = `
    id text, seq bigint, account_id text, cluster_id text, cid text, codec bigint, multihash bytea,
    root_id bigint, hold_id text, type text, status text, status_at bigint, status_code text,
    status_reason text, fetch_id bigint, name text, original_name text, custom_name text, meta text,
    size bigint, dag_size bigint, charge bigint, expires_at bigint, created_at bigint, identity bytea,
    folded_name text, words text[]`

/** The columns of each table. The source passes array columns as JSON. */
const COLUMNS: Readonly<Record<MovedTable, string>> = {
  accounts: `
    id text, seq bigint, email text, email_key text, name text, plan text, role text, default_cluster text,
    password_hash text, disabled boolean, created_at bigint, deleted_at bigint, pins bigint,
    expiring_pins bigint, stored_bytes bigint, kept_bytes bigint`,
  api_keys: `
    id text, seq bigint, account_id text, parent_id text, name text, label text, hash bytea, prefix text,
    scopes text[], ip_allowlist text[], created_at bigint, expires_at bigint, last_used_at bigint, upload json,
    max_uses bigint, uses bigint, is_token boolean, proved_at bigint`,
  sessions: 'id text, seq bigint, account_id text, created_at bigint, expires_at bigint, proved_at bigint',
  second_factors: 'account_id text, secret bytea, enabled_at bigint, last_step bigint',
  password_links: 'account_id text, hash bytea, expires_at bigint',
  identities: 'issuer text, subject text, account_id text, confirmed_at bigint, refresh_token bytea, refresh_at bigint',
  recovery_codes: 'account_id text, hash bytea',
  roots: `
    id bigint, backend_id bigint, codec bigint, multihash bytea, content_size bigint, dag_size bigint,
    blocks bigint, charge bigint, file_count bigint, listed boolean, announced_at bigint`,
  root_files: 'root_id bigint, position bigint, path text, codec bigint, multihash bytea, size bigint',
  fetches: `
    id bigint, account_id text, backend_id bigint, codec bigint, multihash bytea, node text, root_id bigint,
    hold_id text, origins text[], attempts bigint, last_error text, blocks bigint,
    bytes bigint, charge bigint, created_at bigint, running boolean, whole boolean`,
  records: RECORD,
  removals: 'id bigint, account_id text, codec bigint, multihash bytea, cluster_id text, created_by bigint',
  bulk_changes: `
    id bigint, name text, account_id text, action text, selection text, phase text, place text, total bigint,
    done bigint, failed bigint, restored bigint, failures text, freed_bytes bigint, undo_ms bigint,
    created_at bigint, ended_at bigint, undo_ended text`,
  removed_records: `${RECORD}, change_id bigint`,
  placements: `
    id bigint, backend_id bigint, codec bigint, multihash bytea, account_id text, wanted boolean,
    generation bigint, placed boolean, unpin_until bigint, anew boolean, wanted_at bigint, entrusted boolean`,
  webhooks: `
    id text, account_id text, key_id text, url text, secret bytea, created_at bigint, waiting bigint,
    dropped bigint`,
  deliveries: `
    id bigint, webhook_id text, account_id text, event text, record text, from_status text, created_at bigint,
    attempts bigint, ended boolean, delivered boolean, last_status bigint, last_error text, last_at bigint`,
  jobs: `
    kind text, key bigint, queue text, account_id text, due_at bigint, attempts bigint, last_error text`,
  egress: 'account_id text, month bigint, domain text, bytes bigint',
  audit: `
    id bigint, key text, actor text, number bigint, created_at bigint, last_at bigint, times bigint, account_id text,
    credential text, credential_id text, address text, action text, outcome text, subject text`,
}

const DERIVED: Partial<Record<MovedTable, (row: MovedRow) => MovedRow>> = {
  // The email of a deleted account is a placeholder, which no other account can have.
  accounts: ({ email = null, deleted_at }) => ({ email_key: deleted_at === null ? emailKey(String(email)) : email }),
  records: derivedOfRecord,
  removed_records: derivedOfRecord,
  jobs: ({ kind = null, queue = null, node = null }) => ({ queue: kind === 'fetch' ? node : queue }),
}

/** Columns with a sequence, whose next numbers must exceed the moved ones. */
const NUMBERED = [
  ['accounts', 'seq'] as const,
  ['api_keys', 'seq'] as const,
  ['sessions', 'seq'] as const,
  ['records', 'seq'] as const,
  ['bulk_changes', 'id'] as const,
  ['roots', 'id'] as const,
  ['fetches', 'id'] as const,
  ['removals', 'id'] as const,
  ['placements', 'id'] as const,
  ['deliveries', 'id'] as const,
  ['audit', 'id'] as const,
]

export async function insertMoved(sql: Sql, table: MovedTable, rows: readonly MovedRow[]): Promise<void> {
  const columns = COLUMNS[table].split(',').map(column => column.trim().split(/\s+/) as [name: string, type: string])
  const whole: MovedRow[] = rows.map(row => ({ ...row, ...DERIVED[table]?.(row) }))
  const names = columns.map(([name]) => name)
  const values = columns.map(([name, type]): SqlParam => whole.map(row => paramOf(row[name] ?? null, type)))
  const given = columns.map(([name, type], i) => {
    const isText = type === 'json' || type === 'text[]'
    return { array: `$${i + 1}::${isText ? 'text' : type}[]`, value: isText ? `${name}::${type}` : name }
  })
  await sql.run(
    `INSERT INTO ${table} (${names.join(', ')}) OVERRIDING SYSTEM VALUE
     SELECT ${given.map(({ value }) => value).join(', ')}
     FROM unnest(${given.map(({ array }) => array).join(', ')}) AS moved (${names.join(', ')})`,
    values,
  )
}

export async function advanceSequences(sql: Sql): Promise<void> {
  for (const [table, column] of NUMBERED) {
    // A removed record gets its number back when it is restored.
    const removed = table === 'records' ? 'UNION ALL SELECT MAX(seq) FROM removed_records' : ''
    await sql.run(
      `SELECT setval(pg_get_serial_sequence('${table}', '${column}'), GREATEST(1, (
         SELECT MAX(last) FROM (SELECT MAX(${column}) AS last FROM ${table} ${removed}) AS numbers)))`,
    )
  }
}

function paramOf(value: Value, type: string): Value {
  return type === 'text[]' ? listText(JSON.parse(String(value)) as string[]) : value
}

function listText(items: readonly string[]): string {
  return `{${items.map(item => `"${item.replace(/["\\]/g, character => `\\${character}`)}"`).join(',')}}`
}

/** @param row a record, whose `list` is the `seq` of its account */
function derivedOfRecord(row: MovedRow): MovedRow {
  const { id = null, root_id, list } = row
  const text = (column: string): string | null => (row[column] ?? null) as string | null
  const record = {
    clusterId: String(row.cluster_id),
    codec: Number(row.codec),
    multihash: row.multihash as Uint8Array,
    expiresAt: row.expires_at as number | null,
    name: text('name'),
    originalName: text('original_name'),
    customName: text('custom_name'),
    meta: text('meta'),
  }
  return {
    hold_id: root_id === null ? null : id,
    identity: rowIdentity(record),
    folded_name: record.name === null ? null : folded(record.name),
    words: JSON.stringify(wordsOfRecord(Number(list), record)),
  }
}
