import type { MoveInto } from '../../src/catalogue/catalogue-system.ts'
import type { CatalogueToMove, CopiedCatalogue, MovedRow } from '../../src/catalogue/moving.ts'
import type { CopiedTable } from '../../src/catalogue/tables.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { Postgres } from './database/postgres.ts'
import type { Sql } from './database/sql.ts'
import { advanceSequences, insertMoved } from './moved-rows.ts'

/** Triggers that count rows one batch after the other, without the indexes. The counts are copied, or made at the end. */
const COUNTING = [
  ['records', 'records_counted'],
  ['records', 'records_kept_added'],
  ['removed_records', 'removed_records_kept_added'],
] as const

/**
 * Copies a catalogue into an empty database in one transaction. Until {@link takeUp} runs, another copy for the same
 * node replaces this copy.
 *
 * @throws HoldfastError `CONFLICT` if the database is not empty; `OUTCOME_UNKNOWN` if the connection was lost during
 * the commit
 */
export function moveIn(
  database: Postgres,
  source: CatalogueToMove,
  { node, onProgress }: MoveInto,
): Promise<CopiedCatalogue> {
  return database.transaction(async sql => {
    await sql.run('LOCK TABLE nodes IN EXCLUSIVE MODE')
    await checkEmpty(sql, node)
    const names = source.tables.map(({ name }) => name)
    const dropped = await dropIndexes(sql, [...names, 'holds'])
    for (const [table, trigger] of COUNTING) await sql.run(`ALTER TABLE ${table} DISABLE TRIGGER ${trigger}`)
    const of = source.tables.reduce((sum, table) => sum + source.count(table), 0)
    let rows = 0
    for (const table of source.tables) {
      for (const batch of source.batches(table)) {
        await insertMoved(
          sql,
          table,
          batch.map(row => ({ ...row, node })),
        )
        await insertHolds(sql, table, batch, node)
        rows += batch.length
        onProgress({ step: 'copying', rows, of })
      }
    }
    for (const definition of dropped) await sql.run(definition)
    await sql.run('SELECT place_records()')
    for (const [table, trigger] of COUNTING) await sql.run(`ALTER TABLE ${table} ENABLE TRIGGER ${trigger}`)
    await advanceSequences(sql, names)
    await sql.run('ANALYZE')
    const counted = await compare(sql, source)
    await dropUnheld(sql)
    const recounted = await recount(sql)
    await sql.run('INSERT INTO moves (node) VALUES ($1)', [node])
    onProgress({ step: 'copied', rows, of })
    return { rows: counted, recounted }
  })
}

export async function takeUp(database: Postgres, node: string): Promise<void> {
  await database.transaction(async sql => {
    const taken = await sql.run('DELETE FROM moves WHERE node = $1', [node])
    if (taken > 0) await sql.run('INSERT INTO nodes (name, number) VALUES ($1, 0) ON CONFLICT DO NOTHING', [node])
  })
}

export async function isKnownTo(database: Postgres, node: string): Promise<boolean> {
  const text = 'SELECT 1 FROM nodes WHERE name = $1 UNION ALL SELECT 1 FROM moves WHERE node = $1'
  return (await database.reading.first(text, [node])) !== undefined
}

/** Checks that the database is empty. First deletes an earlier copy for this node that was never taken up. */
async function checkEmpty(sql: Sql, node: string): Promise<void> {
  const tables = await sql.all<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'schema_versions'`,
  )
  const move = await sql.first<{ node: string }>('SELECT node FROM moves LIMIT 1')
  if (move?.node === node) {
    await sql.run(`TRUNCATE ${tables.map(({ name }) => name).join(', ')}`)
    return
  }
  for (const { name } of tables) {
    if ((await sql.first(`SELECT 1 FROM ${name} LIMIT 1`)) === undefined) continue
    throw new HoldfastError('CONFLICT', `the database is not empty: the table ${name} has rows`)
  }
}

/** Drops the indexes that enforce no uniqueness. Rebuilding them after the copy is much faster. */
async function dropIndexes(sql: Sql, tables: readonly string[]): Promise<string[]> {
  await sql.run("SET LOCAL maintenance_work_mem = '256MB'")
  const indexes = await sql.all<{ name: string; definition: string }>(
    `SELECT c.relname AS name, pg_get_indexdef(c.oid) AS definition
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
     WHERE t.relname = ANY($1) AND t.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND NOT i.indisunique`,
    [tables],
  )
  for (const { name } of indexes) await sql.run(`DROP INDEX ${name}`)
  return indexes.map(({ definition }) => definition)
}

/** Inserts the holds of the copied rows, with their ids from the ledger. */
async function insertHolds(sql: Sql, { name }: CopiedTable, batch: readonly MovedRow[], node: string): Promise<void> {
  const isFetch = name === 'fetches'
  const isRecord = name === 'records' || name === 'removed_records'
  const held = isRecord ? batch.filter(row => row.root_id !== null) : isFetch ? batch : []
  if (held.length === 0) return
  await sql.run(
    `INSERT INTO holds (id, node, root_id, state)
     SELECT id, $1, root_id, $4 FROM unnest($2::text[], $3::bigint[]) AS held (id, root_id)`,
    [
      node,
      held.map(row => String(isRecord ? row.id : row.hold_id)),
      held.map(row => (isRecord ? row.root_id : row.held_root_id) as number | null),
      name === 'removed_records' ? 'kept' : 'used',
    ],
  )
}

async function compare(sql: Sql, source: CatalogueToMove): Promise<CopiedCatalogue['rows']> {
  const counted: Array<[string, number]> = []
  for (const table of source.tables) {
    const found = await sql.first<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table.name}`)
    const [copied, expected] = [found?.count ?? 0, source.count(table)]
    if (copied !== expected) {
      throw new HoldfastError('INTERNAL_ERROR', `${copied} of ${expected} rows of ${table.name} were copied`)
    }
    counted.push([table.name, copied])
  }
  return Object.fromEntries(counted) as CopiedCatalogue['rows']
}

/**
 * Deletes the roots without a row in `holds`. Only the host program holds such roots, and the catalogue does not store
 * its holds.
 */
async function dropUnheld(sql: Sql): Promise<void> {
  await sql.run('DELETE FROM roots WHERE NOT EXISTS (SELECT 1 FROM holds WHERE holds.root_id = roots.id)')
  await sql.run('DELETE FROM root_files f WHERE NOT EXISTS (SELECT 1 FROM roots WHERE roots.id = f.root_id)')
}

/** Returns the ids of the accounts whose counters were wrong. */
async function recount(sql: Sql): Promise<string[]> {
  const wrong = await sql.all<{ id: string }>(
    `WITH counted AS (
       SELECT account_id, COUNT(*) AS pins, COUNT(expires_at) AS expiring_pins FROM records GROUP BY account_id
     ), stored AS (
       SELECT account_id, SUM(charge)::bigint AS bytes FROM (
         SELECT DISTINCT ON (account_id, multihash, codec) account_id, charge FROM records
         WHERE root_id IS NOT NULL ORDER BY account_id, multihash, codec) AS dags
       GROUP BY account_id
     ), usage AS (
       SELECT a.id, COALESCE(c.pins, 0) AS pins, COALESCE(c.expiring_pins, 0) AS expiring_pins,
         COALESCE(s.bytes, 0) AS stored_bytes
       FROM accounts a LEFT JOIN counted c ON c.account_id = a.id LEFT JOIN stored s ON s.account_id = a.id
     )
     UPDATE accounts a SET pins = u.pins, expiring_pins = u.expiring_pins, stored_bytes = u.stored_bytes
     FROM usage u WHERE u.id = a.id
       AND (a.pins, a.expiring_pins, a.stored_bytes) <> (u.pins, u.expiring_pins, u.stored_bytes)
     RETURNING a.id`,
  )
  return wrong.map(({ id }) => id)
}
