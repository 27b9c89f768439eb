import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { migrate } from '../../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../../adapters/postgres/schema/schema.ts'
import { leasedJobsSchema } from '../../../adapters/postgres/schema/schema-leased-jobs.ts'
import { WORK_AFTER, workAfter, workBefore } from '../../support/jobs-before.ts'
import { needsPostgres, sharedPostgres } from '../../support/postgres-server.ts'

/** Rows of each kind. Manual runs use 300,000. */
const ROWS = Number(process.env.HOLDFAST_MIGRATED_ROWS ?? 10_000)
const BEFORE = migrations.findIndex(({ sql }) => sql === leasedJobsSchema)
const ADAPTER = JSON.stringify(join(import.meta.dirname, '../../../adapters/postgres'))
const MIGRATE = `
  const { Postgres } = await import(${ADAPTER} + '/database/postgres.ts')
  const { migrate } = await import(${ADAPTER} + '/schema/migrate.ts')
  const { migrations } = await import(${ADAPTER} + '/schema/schema.ts')
  const database = await Postgres.open({ url: process.argv[1] })
  await migrate(database, migrations)
  await database.close()`

describe('work in flight of the version before, in PostgreSQL', needsPostgres, () => {
  test('survives killed migrations once, and older nodes stay out', {
    timeout: 600_000,
  }, async () => {
    const server = await sharedPostgres()
    const url = await server.fresh()
    const database = await Postgres.open({ url })
    try {
      await migrate(database, migrations.slice(0, BEFORE))
      for (const sql of workBefore(ROWS, 'postgres')) await database.command(sql)
      // A lock of one table stops the migration halfway.
      for (const table of ['fetches', 'placements', 'deliveries']) {
        const reader = await database.connection()
        // The server ends a silent transaction before the migration of a million rows reaches the table.
        await reader.query(
          `BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE ${table} IN ACCESS SHARE MODE`,
        )
        const child = spawn(process.execPath, ['--input-type=module', '-e', MIGRATE, url], { stdio: 'inherit' })
        const ended = once(child, 'exit')
        const others = `SELECT 1 FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`
        const waiting = `${others} AND wait_event_type = 'Lock'`
        try {
          while ((await database.reading.first(waiting)) === undefined) expect(child.exitCode).toBeNull()
          child.kill('SIGKILL')
          await ended
        } finally {
          await reader.query('ROLLBACK')
          reader.release()
        }
        // The server notices the end of the client after the statement.
        while ((await database.reading.first(`${others} AND state <> 'idle'`)) !== undefined) {}
      }
      const versions = 'SELECT MAX(version) AS version FROM schema_versions'
      expect(await database.reading.first(versions)).toEqual({ version: BEFORE })
      const bytes = async () =>
        (await database.reading.first<{ bytes: number }>('SELECT pg_database_size(current_database()) AS bytes'))?.bytes
      const [size, began] = [await bytes(), performance.now()]
      await migrate(database, migrations)
      const seconds = (performance.now() - began) / 1_000
      if (ROWS > 10_000) console.log({ rows: ROWS * 3, seconds, before: size, after: await bytes() })
      const work = await database.reading.all<Record<string, unknown>>(WORK_AFTER)
      expect(work.map(row => ({ ...row, attempts: Number(row.attempts), keys: Number(row.keys) }))).toEqual(
        workAfter(ROWS, 'here'),
      )
      await expect(migrate(database, migrations.slice(0, BEFORE))).rejects.toMatchObject({ code: 'DATA_DIR_NEWER' })
      for (const table of ['fetches', 'placements', 'webhooks']) await database.command(`DELETE FROM ${table}`)
      expect(await database.reading.first('SELECT 1 FROM jobs')).toBeUndefined()
    } finally {
      await database.close()
      await server.stop()
    }
  })
})
