import type { Placements } from '../../../src/catalogue/placements.ts'
import { placementRules } from '../../../src/catalogue/rules/placement-rules.ts'
import { STEP } from '../../../src/catalogue/rules/status-rules.ts'
import { ownStep, PostgresDriver } from '../database/postgres-driver.ts'
import { LAST_BACKEND } from '../holds/backends.ts'
import { STATUS } from '../holds/fetch-parts.ts'
import type { ContentParts } from './content-change.ts'

export function postgresPlacements({ database, holds, ledger }: ContentParts): Placements {
  return placementRules({
    driver: new PostgresDriver(database),
    node: holds.node,
    backend: holds.backend,
    lastBackend: LAST_BACKEND,
    status: STATUS,
    setPlaced: (backendId, dag, at) => ledger.setPlaced(backendId, dag, at),
    recordsOf: (rootId, from) =>
      ownStep(async sql => {
        const some = await sql.all<{ id: string }>(
          'SELECT id FROM records WHERE root_id = $1 AND id > $2 ORDER BY id LIMIT $3 FOR UPDATE',
          [rootId, (from as string | null) ?? '', STEP],
        )
        return { ids: some.map(({ id }) => id), next: some.at(-1)?.id ?? null }
      }),
  })
}
