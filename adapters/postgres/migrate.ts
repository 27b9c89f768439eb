import { HoldfastError } from '../../src/domain/errors.ts'
import type { Postgres } from './postgres.ts'
import type { Sql } from './sql.ts'

/** Advisory lock that one migration holds at a time. No other code takes this number. */
const LOCK = 0x484f4c44

/** One version of the schema. */
export interface Migration {
  sql: string
  /** Whether a node that knows only the version before may go on beside it: what it adds, that one does without. */
  isTolerated: boolean
}

/**
 * Brings the schema up to what this node knows. Nodes that start at once wait for each other. Returns the version that
 * the database has then.
 *
 * @param mayMigrate false for a command: nodes of an older version may run, so only the start of a node migrates
 * @throws HoldfastError `DATA_DIR_NEWER` if the database has a version that this node cannot work with; `CONFLICT` if it
 * has an older one and may not be migrated, `CONFIG_INVALID` if it has none
 */
export function migrate(database: Postgres, migrations: readonly Migration[], mayMigrate = true): Promise<number> {
  return database.transaction(async sql => {
    await sql.run('SELECT pg_advisory_xact_lock($1)', [LOCK])
    await sql.run(
      'CREATE TABLE IF NOT EXISTS schema_versions (version INTEGER PRIMARY KEY, tolerated BOOLEAN NOT NULL)',
    )
    const found = await sql.all<{ version: number; tolerated: boolean }>(
      'SELECT version, tolerated FROM schema_versions ORDER BY version',
    )
    const beyond = found.slice(migrations.length)
    if (beyond.length > 1 || beyond.some(({ tolerated }) => !tolerated)) {
      throw new HoldfastError('DATA_DIR_NEWER', 'the database was written by a newer version of Holdfast')
    }
    if (!mayMigrate && found.length === 0) {
      throw new HoldfastError(
        'CONFIG_INVALID',
        'database: it has no catalogue; name the database of this data directory',
      )
    }
    if (!mayMigrate && found.length < migrations.length) {
      const remedy = 'whose nodes may be running: start a node of this version first'
      throw new HoldfastError('CONFLICT', `database: it has the schema of an older Holdfast, ${remedy}`)
    }
    for (const [i, migration] of migrations.entries()) if (i >= found.length) await apply(sql, i + 1, migration)
    return Math.max(found.length, migrations.length)
  })
}

async function apply(sql: Sql, version: number, { sql: text, isTolerated }: Migration): Promise<void> {
  for (const statement of statementsOf(text)) await sql.run(statement)
  await sql.run('INSERT INTO schema_versions (version, tolerated) VALUES ($1, $2)', [version, isTolerated])
}

/** Statements end with a semicolon at the end of a line, those within `$$` apart. */
function statementsOf(text: string): string[] {
  const statements: string[] = []
  let open = ''
  for (const line of text.split('\n')) {
    open += `${line}\n`
    const isQuoted = open.split('$$').length % 2 === 0
    if (isQuoted || !line.trimEnd().endsWith(';')) continue
    statements.push(open.trim())
    open = ''
  }
  return statements
}
