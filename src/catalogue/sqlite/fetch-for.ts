import type { Holds } from '../../ledger/holds.ts'
import type { RootTable } from '../../ledger/root-table.ts'
import type { NewRecord } from '../records.ts'
import type { FetchTable } from './fetch-table.ts'
import { fetchHold } from './record-commit.ts'

interface Tables {
  fetches: FetchTable
  roots: RootTable
  holds: Holds
}

/** The fetch that is to bring a record's content, which begins now unless it is under way. Part of a transaction. */
export function fetchFor(
  { fetches, roots, holds }: Tables,
  wanted: {
    backendId: number
    record: Pick<NewRecord, 'accountId' | 'codec' | 'multihash'>
    origins: readonly string[]
    now: number
  },
): number {
  const { backendId, record, origins, now } = wanted
  const known = fetches.find(backendId, record)
  if (known === undefined) {
    const rootId = roots.stage(backendId, now)
    const { accountId } = record
    const fetchId = fetches.insert({ accountId, backendId, dag: record, rootId, origins, dueAt: now })
    holds.place(fetchHold(fetchId), rootId, null)
    return fetchId
  }
  const isUnderWay = fetches.isRunning(known.id) || fetches.waitingAs(known.id, 'queued', 1).length > 0
  if (!isUnderWay) fetches.renew(known.id, now, [...new Set([...origins, ...known.origins])])
  return known.id
}
