import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres } from '../../adapters/postgres/database/postgres.ts'
import { migrate } from '../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../adapters/postgres/schema/schema.ts'
import { allTables } from '../../src/features/feature-list.ts'
import { Database } from '../../src/storage/database.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../support/postgres-server.ts'

interface Column {
  table: string
  column: string
}

/** Returns the declared tables of a database, each with the column of its account. */
function declaredIn(database: 'sqlite' | 'postgres'): Record<string, string | null> {
  const there = allTables.filter(({ only = database }) => only === database)
  return Object.fromEntries(there.map(({ name, account = null }) => [name, account]))
}

/** Returns the tables of a schema. An account has a column of its own name everywhere, but in its own table. */
function foundIn(columns: readonly Column[]): Record<string, string | null> {
  const tables = Map.groupBy(columns, ({ table }) => table)
  const accountOf = (table: string): string | null =>
    table === 'accounts' ? 'id' : (tables.get(table)?.find(({ column }) => column === 'account_id')?.column ?? null)
  return Object.fromEntries([...tables.keys()].map(table => [table, accountOf(table)]))
}

describe('each table is declared by its owner, with its account', () => {
  test('in SQLite', () => {
    const sqlite = new Database(':memory:')
    const columns = sqlite.prepare<[], Column>(
      `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t JOIN pragma_table_info(t.name) c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name NOT LIKE 'record_search%'`,
    )
    expect(foundIn(columns.all())).toEqual(declaredIn('sqlite'))
    sqlite.close()
  })

  describe('in a server', needsPostgres, () => {
    let server: SharedPostgres
    let postgres: Postgres
    beforeAll(async () => {
      server = await sharedPostgres()
      postgres = await Postgres.open({ url: await server.migrated() })
      await migrate(postgres, migrations)
    })
    afterAll(async () => {
      await postgres?.close()
      await server?.stop()
    })

    test('in PostgreSQL', async () => {
      const columns = await postgres.reading.all<Column>(
        `SELECT table_name AS table, column_name AS column FROM information_schema.columns
         WHERE table_schema = current_schema() AND (table_schema, table_name) IN (SELECT schemaname, tablename FROM pg_tables)`,
      )
      expect(foundIn(columns)).toEqual(declaredIn('postgres'))
    })
  })
})
