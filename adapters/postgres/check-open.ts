import type { OpenCheck } from '../../src/catalogue/catalogue-system.ts'
import type { NodeName } from '../../src/catalogue/shared-catalogue.ts'
import { Postgres } from './database/postgres.ts'
import { checkJoin } from './fleet/join-fleet.ts'
import { schemaVersions } from './schema/migrate.ts'
import { migrations } from './schema/schema.ts'
import { checkVersion } from './shared-database.ts'

const HAS_SCHEMA = "SELECT to_regclass('schema_versions') IS NOT NULL AS has"
const KEY = 'SELECT id FROM sealing_key LIMIT 1'

/** Checks what the start of a node refuses. A database that the start migrates first has no nodes that it can know. */
export async function checkOpen({ url, checkKey, ...place }: OpenCheck, name: NodeName): Promise<void> {
  const database = await Postgres.open({ url, connections: 1 })
  try {
    await checkVersion(database)
    await database.transaction(async sql => {
      const found = await sql.first<{ has: boolean }>(HAS_SCHEMA)
      if (found?.has !== true || (await schemaVersions(sql, migrations)).length < migrations.length) return
      checkKey((await sql.first<{ id: string }>(KEY))?.id ?? null)
      await checkJoin(sql, name, place)
    })
  } finally {
    await database.close()
  }
}
