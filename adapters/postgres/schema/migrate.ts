import { HoldfastError } from '../../../src/domain/errors.ts'
import type { Postgres } from '../database/postgres.ts'
import type { Sql } from '../database/sql.ts'
import { SCHEMA_LOCK, statementsOf } from '../database/statements-of.ts'
import { VISIBILITY_VERSION } from './schema-visibility.ts'

export interface Migration {
  sql: string
  /** True if nodes of the previous version may keep running after this migration. */
  isTolerated: boolean
  /** Further changes of a new database, in which no node of the previous version runs. */
  whenNew?: (sql: Sql) => Promise<void>
}

/**
 * Migrates the schema. Returns its version, which is higher if a newer node has migrated it. Nodes that start together
 * migrate one after the other.
 *
 * @param database has no `answerMs`, because the migration of a large table takes minutes
 * @param mayMigrate false for commands: a migration may break running nodes of an older version
 * @throws HoldfastError `DATA_DIR_NEWER` if this node cannot work with the version of the schema. If `mayMigrate` is
 * false: `CONFLICT` if the schema is older than this node, `CONFIG_INVALID` if the database has no schema
 */
export function migrate(database: Postgres, migrations: readonly Migration[], mayMigrate = true): Promise<number> {
  return database.transaction(async sql => {
    // The role or the database may have a limit.
    await sql.run('SET LOCAL statement_timeout = 0')
    await sql.run('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK])
    await sql.run(
      'CREATE TABLE IF NOT EXISTS schema_versions (version INTEGER PRIMARY KEY, tolerated BOOLEAN NOT NULL)',
    )
    const found = await schemaVersions(sql, migrations)
    if (!mayMigrate && found.length === 0) {
      throw new HoldfastError(
        'CONFIG_INVALID',
        'database: it has no catalogue; set it to the database of this data directory',
      )
    }
    if (!mayMigrate && found.length < migrations.length) {
      const remedy = 'and its nodes may be running; start a node of this version first'
      throw new HoldfastError('CONFLICT', `database: the schema is from an older Holdfast, ${remedy}`)
    }
    for (const [i, migration] of migrations.entries()) {
      if (i >= found.length) await apply(sql, i + 1, migration)
      if (found.length === 0) await migration.whenNew?.(sql)
    }
    return Math.max(found.length, migrations.length)
  })
}

/**
 * Returns the migrations that a database has had, oldest first.
 *
 * @throws HoldfastError `DATA_DIR_NEWER` if this node cannot work with the version of the schema
 */
export async function schemaVersions(sql: Sql, migrations: readonly Migration[]) {
  const found = await sql.all<{ version: number; tolerated: boolean }>(
    'SELECT version, tolerated FROM schema_versions WHERE version <> $1 ORDER BY version',
    [VISIBILITY_VERSION],
  )
  const newer = found.slice(migrations.length)
  if (newer.length > 1 || newer.some(({ tolerated }) => !tolerated)) {
    throw new HoldfastError('DATA_DIR_NEWER', 'the database was written by a newer version of Holdfast')
  }
  return found
}

async function apply(sql: Sql, version: number, { sql: text, isTolerated }: Migration): Promise<void> {
  for (const statement of statementsOf(text)) await sql.run(statement)
  await sql.run('INSERT INTO schema_versions (version, tolerated) VALUES ($1, $2)', [version, isTolerated])
}
