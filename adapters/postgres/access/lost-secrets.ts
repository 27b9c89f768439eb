import type { SealedSecrets } from '../../../src/catalogue/catalogue-system.ts'
import { type CatalogueTable, lostNames } from '../../../src/catalogue/tables.ts'
import type { Postgres } from '../database/postgres.ts'

export async function sealedIn({ reading }: Postgres, tables: readonly CatalogueTable[]): Promise<SealedSecrets> {
  const found: Parameters<typeof lostNames>[0][number][] = []
  for (const { sealed } of tables) {
    if (sealed?.listed !== undefined) found.push([sealed.listed.as, await reading.all(sealed.listed.names)])
  }
  const nodes = await reading.first<{ count: number }>('SELECT COUNT(*) AS count FROM nodes')
  return { ...lostNames(found), nodes: nodes?.count ?? 0 }
}

/** Deletes every sealed secret, signing keys included. The next node to start chooses the sealing key. */
export async function forgetSealed(database: Postgres, tables: readonly CatalogueTable[]): Promise<void> {
  await database.transaction(async sql => {
    for (const { sealed } of tables) if (sealed !== undefined) await sql.run(sealed.forget)
  })
}
