import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { enableVisibility } from '../../../adapters/postgres/fleet/enable-visibility.ts'
import { NodeClaim } from '../../../adapters/postgres/nodes/node-claim.ts'
import { migrate } from '../../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../../adapters/postgres/schema/schema.ts'
import { commit, record } from '../../catalogue/content-support.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { withAccounts, withNode } from './catalogue-in-postgres.ts'

describe('private records in a database of an earlier version', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  test('are enabled once no earlier version runs', async () => {
    const database = await Postgres.open({ url: await server.fresh() })
    try {
      // An upgrade runs no change for new databases.
      await migrate(
        database,
        migrations.map(({ whenNew: _, ...migration }) => migration),
      )
      await withAccounts(database)
      await withNode(database, 'here', async catalogue => {
        const keep = (id: string, owner: number) => commit(catalogue, [record(id, { owner })])
        await expect(keep('closed', 77)).rejects.toMatchObject({ code: 'CONFLICT' })
        await keep('open', 0)
        await database.command(
          "INSERT INTO nodes (name, number, id, url, run, confirmed) VALUES ('older', 7, 'older', 'http://older', 'a', 1)",
        )
        // The node has run this version. Then an earlier one has started again with its directory.
        await database.command("UPDATE nodes SET run = 'b' WHERE name = 'older'")
        const process = await database.connection()
        await new NodeClaim('older').take(process)
        const message = 'visibility: an older Holdfast runs as older: upgrade every node first'
        await expect(enableVisibility(database)).rejects.toMatchObject({ code: 'CONFLICT', message })
        await expect(keep('closed', 77)).rejects.toMatchObject({ code: 'CONFLICT' })
        process.release(true)
        await expect.poll(() => enableVisibility(database).then(() => 'enabled', String)).toBe('enabled')
        await enableVisibility(database)
        const [made] = await keep('closed', 77)
        expect(made?.record.owner).toBe(77)
      })
      const refusing = 'SELECT 1 FROM schema_versions WHERE version > $1 AND NOT tolerated'
      expect(await database.reading.first(refusing, [migrations.length])).toBeDefined()
    } finally {
      await database.close()
    }
  })
})
