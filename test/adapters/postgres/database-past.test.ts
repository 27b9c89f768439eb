import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { DatabasePast } from '../../../adapters/postgres/outages/database-past.ts'
import { CataloguePastTable } from '../../../src/ledger/catalogue-past.ts'
import { Database } from '../../../src/storage/database.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { emptiedDatabase } from './opened-database.ts'

describe('the past of a database', needsPostgres, () => {
  let database: Postgres
  emptiedDatabase(opened => {
    database = opened
  })

  test.each([
    ['system', 'the database is on another server than before'],
    ['database', 'the database was dropped and created again'],
  ])('tells another %s', async (field, problem) => {
    const ledger = new Database(':memory:')
    const connection = await database.connection()
    try {
      const table = new CataloguePastTable(ledger)
      const past = () => new DatabasePast(table, 'here', () => undefined)
      await past().check(connection)
      const known = table.get()
      if (known === null) throw new Error('the past is not known')
      table.put({ ...known, past: { ...known.past, [field]: '1' } })
      const next = past()
      await next.check(connection)
      expect(next.problem).toBe(problem)
    } finally {
      connection.release(true)
      ledger.close()
    }
  })
})
