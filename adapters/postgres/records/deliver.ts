import type { Fetches } from '../../../src/catalogue/fetches.ts'
import type { PinLimits, RecordRow } from '../../../src/catalogue/records.ts'
import { deliverTo, type WaitingRecords } from '../../../src/catalogue/rules/fetch-requests.ts'
import { dropIfUnneeded, type FetchParts, lockFetch } from '../../../src/catalogue/rules/fetch-rows.ts'
import { lockRecordRows, STEP } from '../../../src/catalogue/rules/status-rules.ts'
import type { WholeDag } from '../../../src/ledger/whole-dag.ts'
import { ownStep, runRule } from '../database/postgres-driver.ts'
import type { Sql } from '../database/sql.ts'
import { BACKEND_ID } from '../holds/backends.ts'
import type { PlacedHold } from '../holds/begun-holds.ts'
import { identicalRecord } from '../lists/record-rows.ts'
import { ContentChange, type ContentParts } from './content-change.ts'

interface HeldRoot {
  root: WholeDag & { id: number; backendId: number }
  hold: PlacedHold
}

/**
 * Locks the rows of the accounts. Returns their {@link ContentChange}, and the operations on records that wait for a
 * fetch.
 */
export async function waitingRecords(
  sql: Sql,
  parts: ContentParts,
  accounts: readonly string[],
): Promise<{ change: ContentChange; records: WaitingRecords<HeldRoot> }> {
  const change = await ContentChange.begin(sql, parts, accounts)
  const records: WaitingRecords<HeldRoot> = {
    identical: ({ record, now }) => ownStep(async () => (await identicalRecord(sql, record, now)) ?? null),
    usageWith: (accountId, held, limits, now) =>
      ownStep(() => change.usageWith(accountId, held?.root ?? null, limits, now)),
    insert: row =>
      ownStep(async () => {
        await change.insert(row, null)
        // Later statements of the transaction change the record.
        await change.write()
        return row
      }),
    fulfil: (record, { hold, root }, now) => ownStep(() => change.fulfil(record, hold, root.backendId, now)),
  }
  return { change, records }
}

/** Delivers a fetched DAG to some of its waiting records, each with its own hold. */
export async function deliverSome(
  fetches: FetchParts,
  parts: ContentParts,
  { fetchId, limits, now }: { fetchId: number; limits: ReadonlyMap<string, PinLimits>; now: number },
): ReturnType<Fetches['deliver']> {
  const root = await rootOf(parts.database.reading, fetchId)
  if (root === undefined) return { changes: [], isDone: true }
  const found = await parts.database.reading.all<Pick<RecordRow, 'id' | 'accountId' | 'expiresAt'>>(
    `SELECT id, account_id AS "accountId", expires_at AS "expiresAt" FROM records
     WHERE fetch_id = $1 AND account_id = ANY($2) ORDER BY id LIMIT $3`,
    [fetchId, [...limits.keys()], STEP],
  )
  const { contentSize, dagSize, charge, backendId } = root
  const placed = { id: '', rootId: root.id, contentSize, dagSize, charge, backendId, dag: root }
  const ends = found.map(({ expiresAt }) => expiresAt)
  const placedMore = found.length === 0 ? [] : await parts.holds.placeMore(placed, ends)
  const holds = new Map(found.map(({ id }, i) => [id, placedMore[i]]))
  try {
    return await parts.database.transaction(async sql => {
      const accounts = found.map(({ accountId }) => accountId)
      const { change, records } = await waitingRecords(sql, parts, accounts)
      function* deliver() {
        const fetch = yield* lockFetch(fetchId)
        const waiting = (yield* lockRecordRows([...holds.keys()])).flatMap(record => {
          const hold = record.fetchId === fetchId ? holds.get(record.id) : undefined
          return hold === undefined ? [] : [{ record, content: { root, hold } }]
        })
        const changes = yield* deliverTo(fetches, records, { waiting, limits, now })
        return { changes, isDone: yield* dropIfUnneeded(fetches, fetch) }
      }
      const delivered = await runRule(deliver(), sql)
      await change.accounts.write()
      return delivered
    })
  } finally {
    // Some records no longer wait or exceed their quota. Their holds are unused.
    await parts.holds.discard(placedMore.map(({ id }) => id))
  }
}

function rootOf(sql: Sql, fetchId: number): Promise<HeldRoot['root'] | undefined> {
  return sql.first<HeldRoot['root']>(
    `SELECT r.id, r.${BACKEND_ID} AS "backendId", r.codec, r.multihash, r.owner, r.content_size AS "contentSize",
       r.dag_size AS "dagSize", r.blocks, r.charge, r.file_count AS "fileCount"
     FROM fetches f JOIN holds h ON h.id = f.hold_id JOIN roots r ON r.id = h.root_id WHERE f.id = $1`,
    [fetchId],
  )
}
