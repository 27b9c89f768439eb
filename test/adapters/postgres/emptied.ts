import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'

/** Deletes the rows of all tables, so that many tests can share a schema. Revisions keep counting. */
export async function emptied(database: Postgres): Promise<void> {
  const tables = await database.reading.all<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN ('schema_versions', 'revisions')`,
  )
  const removals = tables.map(({ name }, i) => `gone${i} AS (DELETE FROM ${name})`)
  await database.command(`WITH ${removals.join(', ')} SELECT 1`)
}
