import { type FetchRow, OVER_QUOTA, type StatusChange } from '../../src/catalogue/fetches.ts'
import type { PinLimits, RecordRow } from '../../src/catalogue/records.ts'
import { checkTransition } from '../../src/domain/pin-status.ts'
import type { WholeDag } from '../../src/ledger/whole-dag.ts'
import { BACKEND_ID } from './backends.ts'
import { ContentChange, type ContentParts } from './content-change.ts'
import { dropIfUnneeded, lockFetch, STEP } from './fetch-rows.ts'
import { lockRecords, setFetch, setStatus } from './record-rows.ts'
import type { PlacedHold } from './shared-holds.ts'
import type { Sql } from './sql.ts'

export interface Delivery {
  changes: StatusChange[]
  /** Nobody waits any more, and the fetch is gone. */
  isDone: boolean
}

interface Brought {
  root: WholeDag & { id: number; backendId: number }
  now: number
  limits: ReadonlyMap<string, PinLimits>
}

/** Gives what a fetch has brought to some of the records that wait, each of which holds it from then on. */
export async function deliverSome(
  parts: ContentParts,
  fetchId: number,
  limits: ReadonlyMap<string, PinLimits>,
  now: number,
): Promise<Delivery> {
  const root = await rootOf(parts.database.reading, fetchId)
  if (root === undefined) return { changes: [], isDone: true }
  const waiting = await parts.database.reading.all<Pick<RecordRow, 'id' | 'accountId' | 'expiresAt'>>(
    `SELECT id, account_id AS "accountId", expires_at AS "expiresAt" FROM records
     WHERE fetch_id = $1 AND account_id = ANY($2) ORDER BY id LIMIT $3`,
    [fetchId, [...limits.keys()], STEP],
  )
  const { contentSize, dagSize, charge, backendId } = root
  const placed = { id: '', rootId: root.id, contentSize, dagSize, charge, backendId, dag: root }
  const ends = waiting.map(({ expiresAt }) => expiresAt)
  const placedMore = waiting.length === 0 ? [] : await parts.holds.placeMore(placed, ends)
  const holds = new Map(waiting.map(({ id }, i) => [id, placedMore[i]]))
  try {
    return await parts.database.transaction(async sql => {
      const accounts = waiting.map(({ accountId }) => accountId)
      const change = await ContentChange.begin(sql, parts, accounts)
      const fetch = await lockFetch(sql, fetchId)
      const changes: StatusChange[] = []
      for (const record of await lockRecords(sql, [...holds.keys()])) {
        const hold = record.fetchId === fetchId ? holds.get(record.id) : undefined
        if (hold === undefined) continue
        const told = await deliverTo(sql, change, { record, hold }, { root, now, limits })
        if (told.record.status !== told.from) changes.push(told)
      }
      const isDone = await dropIfUnneeded(sql, parts.holds, fetch)
      await change.accounts.write()
      return { changes, isDone }
    })
  } finally {
    // Those that were not used: of who could not have it, or does not wait any more.
    await parts.holds.giveUp(placedMore.map(({ id }) => id))
  }
}

async function deliverTo(
  sql: Sql,
  change: ContentChange,
  { record, hold }: { record: RecordRow; hold: PlacedHold },
  { root, now, limits }: Brought,
): Promise<StatusChange> {
  const { id, accountId, status: from } = record
  if (await change.fits(accountId, root, limits.get(accountId)?.maxStorageBytes ?? null, now)) {
    return { record: await change.fulfil(record, hold, root.backendId, now), from }
  }
  checkTransition(from, 'failed')
  await setFetch(sql, id, null)
  return { record: await setStatus(sql, id, { status: 'failed', at: now, reason: OVER_QUOTA }), from }
}

function rootOf(sql: Sql, fetchId: FetchRow['id']): Promise<Brought['root'] | undefined> {
  return sql.first<Brought['root']>(
    `SELECT r.id, r.${BACKEND_ID} AS "backendId", r.codec, r.multihash, r.content_size AS "contentSize",
       r.dag_size AS "dagSize", r.blocks, r.charge, r.file_count AS "fileCount"
     FROM fetches f JOIN holds h ON h.id = f.hold_id JOIN roots r ON r.id = h.root_id WHERE f.id = $1`,
    [fetchId],
  )
}
