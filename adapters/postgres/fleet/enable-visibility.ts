import { HoldfastError } from '../../../src/domain/errors.ts'
import type { Postgres } from '../database/postgres.ts'
import { SCHEMA_LOCK } from '../database/statements-of.ts'
import { applyVisibility } from '../schema/schema-visibility.ts'
import { IS_LOCKED } from './node-list.ts'

/** Running nodes that confirm no changes, because their version is older than private records. */
const OLDER = `SELECT COALESCE(id, name) AS node FROM nodes WHERE confirmed IS NULL AND ${IS_LOCKED} ORDER BY number`

/**
 * Lets records be private, once all running nodes can have some. Repeating it changes nothing.
 *
 * @throws HoldfastError `CONFLICT`, which names the nodes of an older version
 */
export function enableVisibility(database: Postgres): Promise<void> {
  return database.transaction(async sql => {
    // New indexes of a large table take longer than any other statement.
    await sql.run('SET LOCAL statement_timeout = 0')
    await sql.run('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK])
    const older = (await sql.all<{ node: string }>(OLDER)).map(({ node }) => node)
    if (older.length === 0) return applyVisibility(sql)
    const remedy = 'upgrade every node first'
    throw new HoldfastError('CONFLICT', `visibility: an older Holdfast runs as ${older.join(', ')}: ${remedy}`)
  })
}
