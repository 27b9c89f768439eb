import type { Database } from '../../storage/database.ts'
import { type CatalogueTable, type LostNames, lostNames } from '../tables.ts'

/** Returns what users lose with the data key. */
export function lostIn(db: Database, tables: readonly CatalogueTable[]): LostNames {
  const lost = tables.flatMap(({ sealed }) => sealed?.listed ?? [])
  return lostNames(lost.map(({ as, names }) => [as, db.prepare<[], { name: string }>(names).all()]))
}

/** Deletes what the lost key sealed. Runs within the caller's transaction. */
export function forgetLost(db: Database, tables: readonly CatalogueTable[]): void {
  for (const { only, sealed } of tables)
    if (sealed !== undefined && only !== 'postgres') db.prepare(sealed.forget).run()
}
