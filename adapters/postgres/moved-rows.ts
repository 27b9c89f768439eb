import type { MovedRow } from '../../src/catalogue/moving.ts'
import { emailKey } from '../../src/catalogue/rules/account-rules.ts'
import { type CopiedTable, movedColumns } from '../../src/catalogue/tables.ts'
import { folded } from '../../src/domain/search-words.ts'
import type { Sql, SqlParam } from './database/sql.ts'
import { rowIdentity, wordsOfRecord } from './lists/record-rows.ts'

type Value = MovedRow[string]

/** Columns that only PostgreSQL has, or that differ on it. */
const DERIVED: Readonly<Record<string, { types: string; of: (row: MovedRow) => MovedRow }>> = {
  // The email of a deleted account is a placeholder, which no other account can have.
  accounts: {
    types: 'email_key text',
    of: ({ email = null, deleted_at }) => ({ email_key: deleted_at === null ? emailKey(String(email)) : email }),
  },
  fetches: { types: 'node text', of: () => ({}) },
  records: { types: 'hold_id text, identity bytea, folded_name text, words text[]', of: derivedOfRecord },
  removed_records: { types: 'hold_id text, identity bytea, folded_name text, words text[]', of: derivedOfRecord },
  jobs: { types: '', of: ({ kind = null, queue = null, node = null }) => ({ queue: kind === 'fetch' ? node : queue }) },
}

export async function insertMoved(sql: Sql, table: CopiedTable, rows: readonly MovedRow[]): Promise<void> {
  const derived = DERIVED[table.name]
  const columns = movedColumns({ columns: [table.columns, derived?.types].filter(Boolean).join(', ') }).flatMap(
    ({ name, type }) => (type === undefined ? [] : { name, type }),
  )
  const whole: MovedRow[] = rows.map(row => ({ ...row, ...derived?.of(row) }))
  const names = columns.map(({ name }) => name)
  const values = columns.map(({ name, type }): SqlParam => whole.map(row => paramOf(row[name] ?? null, type)))
  const given = columns.map(({ name, type }, i) => {
    const isText = type === 'json' || type === 'text[]'
    return { array: `$${i + 1}::${isText ? 'text' : type}[]`, value: isText ? `${name}::${type}` : name }
  })
  await sql.run(
    `INSERT INTO ${table.name} (${names.join(', ')}) OVERRIDING SYSTEM VALUE
     SELECT ${given.map(({ value }) => value).join(', ')}
     FROM unnest(${given.map(({ array }) => array).join(', ')}) AS moved (${names.join(', ')})`,
    values,
  )
}

/** Makes the next numbers of all identity columns exceed the moved ones. */
export async function advanceSequences(sql: Sql, tables: readonly string[]): Promise<void> {
  const numbered = await sql.all<{ table: string; column: string }>(
    `SELECT table_name AS table, column_name AS column FROM information_schema.columns
     WHERE table_schema = current_schema() AND is_identity = 'YES' AND table_name = ANY($1)`,
    [tables],
  )
  for (const { table, column } of numbered) {
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
    owner: Number(row.owner),
  }
  return {
    hold_id: root_id === null ? null : id,
    identity: rowIdentity(record),
    folded_name: record.name === null ? null : folded(record.name),
    words: JSON.stringify(wordsOfRecord(Number(list), record)),
  }
}
