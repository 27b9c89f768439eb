import type { HoldPlace, Holds } from '../../ledger/holds.ts'
import { PUBLIC } from '../../ledger/possessor.ts'
import type { RootTable } from '../../ledger/root-table.ts'
import type { Placements } from '../placements.ts'
import { own } from '../rules/driver.ts'
import { placementRules } from '../rules/placement-rules.ts'
import { STEP, type StatusRules } from '../rules/status-rules.ts'
import type { SqliteDriver } from './sqlite-driver.ts'

export function sqlitePlacements(
  driver: SqliteDriver,
  status: StatusRules,
  { roots, holds }: { roots: RootTable; holds: Holds },
): Placements {
  return placementRules({
    driver,
    node: '',
    backend: backendId => backendId,
    lastBackend: Number.MAX_SAFE_INTEGER,
    status,
    setPlaced: (backendId, dag, at) => {
      const root = roots.find(backendId, dag, PUBLIC)
      if (root !== undefined) roots.setPlaced(root.id, at)
    },
    recordsOf: (rootId, from) =>
      own(() => {
        const held = holds.ofRoot(rootId, (from as HoldPlace | null) ?? { ends: -1, id: '' }, STEP)
        return { ids: held.map(({ id }) => id), next: held.at(-1) ?? null }
      }),
  })
}
