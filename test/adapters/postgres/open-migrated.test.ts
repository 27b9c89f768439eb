import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { openMigrated } from '../../../adapters/postgres/shared-database.ts'
import { needsPostgres, sharedPostgres } from '../../support/postgres-server.ts'

test('a migration may take longer than other statements', needsPostgres, async () => {
  const server = await sharedPostgres()
  const url = await server.fresh()
  await (await openMigrated({ url })).close()
  const other = await Postgres.open({ url })
  try {
    const [{ name } = { name: '' }] = await other.reading.all<{ name: string }>('SELECT current_database() AS name')
    await other.command(`ALTER DATABASE ${name} SET statement_timeout = 50`)
    const holder = await other.connection()
    await holder.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE schema_versions')
    const opened = openMigrated({ url, answerMs: 50 })
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    while ((await other.reading.first(waiting)) === undefined) await sleep(5)
    // The server's limit would end the wait after 50 ms, and the client's limit 15 seconds later.
    await sleep(15_500)
    await holder.query('ROLLBACK')
    holder.release()
    const database = await opened
    try {
      await expect(database.reading.first('SELECT pg_sleep(0.2)')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    } finally {
      await database.close()
    }
  } finally {
    await other.close()
    await server.stop()
  }
})
