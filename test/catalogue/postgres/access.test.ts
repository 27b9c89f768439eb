import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { postgresAccess } from '../../../src/catalogue/postgres/access-catalogue.ts'
import { migrate } from '../../../src/catalogue/postgres/migrate.ts'
import { Postgres } from '../../../src/catalogue/postgres/postgres.ts'
import { migrations } from '../../../src/catalogue/postgres/schema.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { accessRules } from '../access-rules.ts'
import { emptied } from './emptied.ts'

describe('the access stores in PostgreSQL', needsPostgres, () => {
  let server: TestPostgres
  let database: Postgres
  beforeAll(async () => {
    server = await startPostgres()
    database = await Postgres.open({ url: await server.fresh() })
    await migrate(database, migrations)
  })
  beforeEach(() => emptied(database))
  afterAll(async () => {
    await database?.close()
    await server?.stop()
  })

  test.each(accessRules)('$name', ({ run }) => run(postgresAccess(database, 'here')))
})
