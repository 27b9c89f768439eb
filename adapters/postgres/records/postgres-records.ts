import type { CoreCatalogue } from '../../../src/catalogue/catalogue.ts'
import type { AccountUsage, RecordRow } from '../../../src/catalogue/records.ts'
import { bulkRules } from '../../../src/catalogue/rules/bulk-rules.ts'
import { type RecordParts, recordRules, usageOf } from '../../../src/catalogue/rules/record-rules.ts'
import { accountUsage } from '../../../src/catalogue/rules/record-statements.ts'
import { type HeldRecord, heldRecord } from '../../../src/catalogue/rules/removal-rules.ts'
import { selectList } from '../../../src/catalogue/rules/statement.ts'
import type { Clock } from '../../../src/domain/clock.ts'
import { accountReads } from '../access/account-reads.ts'
import { earlierTime } from '../database/database-time.ts'
import { ownStep, PostgresDriver } from '../database/postgres-driver.ts'
import type { Sql } from '../database/sql.ts'
import { checkPrivate } from '../lists/private-records.ts'
import { RecordLists } from '../lists/record-lists.ts'
import { foundBy } from '../lists/record-rows.ts'
import type { ContentParts } from './content-change.ts'
import { RecordCommits } from './record-commits.ts'
import { recordOwnerChange } from './record-owner.ts'

/**
 * Returns a statement that deletes records. Locks them in the order of their ids, to avoid deadlocks.
 *
 * @param offers a statement that returns the holds of offers for them
 */
const removalWith = (offers: string): string => `
  WITH gone AS (
    DELETE FROM records WHERE id = ANY(ARRAY(SELECT id FROM records WHERE id = ANY($1) ORDER BY id FOR UPDATE))
    RETURNING ${selectList(heldRecord).postgres}
  ), offered AS (${offers})
  SELECT *, ARRAY(SELECT hold_id FROM offered WHERE record_id = gone.id) AS offered FROM gone`
const END_OFFERS = 'DELETE FROM offers WHERE record_id = ANY($1) RETURNING record_id, hold_id'
const REMOVE = removalWith(END_OFFERS)
/** The content of offers stays for an undo. */
const KEEP = removalWith('SELECT record_id, hold_id FROM offers WHERE record_id = ANY($1)')
const OFFERED = `SELECT hold_id AS "holdId" FROM offers WHERE record_id = $1`

type Removed = HeldRecord & { offered: string[] }
type HoldRow = { hold_id: string }

const COUNTERS = `SELECT id, ${selectList(accountUsage).postgres} FROM accounts WHERE id = ANY($1)`

export function postgresRecords(parts: ContentParts, clock: Clock): Pick<CoreCatalogue, 'records' | 'bulk'> {
  const { database, holds } = parts
  const commits = new RecordCommits(parts)
  const lists = new RecordLists(database)
  const counters = accountReads<AccountUsage & { id: string }>(database, COUNTERS)
  const driver = new PostgresDriver(database)
  const earlier = (now: number): Promise<number> => earlierTime(database.reading, clock, now)
  const removing =
    (text: string, release: (sql: Sql, ids: string[]) => Promise<void>) => (records: readonly RecordRow[]) =>
      ownStep(async sql => {
        const ids = records.map(({ id }) => id)
        const removed = new Map((await sql.all<Removed>(text, [ids])).map(row => [row.id, row]))
        const rows = ids.flatMap(id => removed.get(id) ?? [])
        await release(sql, [...holdsOf(rows), ...rows.flatMap(({ offered }) => offered)])
        return rows.map(({ holdId: _, offered: __, ...row }) => row)
      })
  const removal: RecordParts = {
    found: foundBy,
    remove: removing(REMOVE, (sql, ids) => holds.void(sql, ids, true)),
    // The records are already removed. If the ledger fails now, a later call releases their holds.
    dropReleased: async () => void (await holds.releaseVoid().catch(() => undefined)),
  }
  const rules = recordRules(driver, removal)
  const bulk = bulkRules(driver, {
    ...removal,
    node: holds.node,
    keep: removing(KEEP, (sql, ids) => holds.mute(sql, ids)),
    unkeep: ({ id, holdId, expiresAt }) =>
      ownStep(async sql => {
        const offered = await sql.all<{ holdId: string }>(OFFERED, [id])
        const all = [{ holdId }, ...offered].flatMap(hold => hold.holdId ?? [])
        await holds.unmute(sql, all, expiresAt)
      }),
    expiring: (record, by) => ownStep(sql => countExpiring(sql, record, by)),
    release: records =>
      ownStep(async sql => {
        const ended = await sql.all<HoldRow>(END_OFFERS, [records.map(({ id }) => id)])
        await holds.void(sql, [...holdsOf(records), ...ended.map(({ hold_id }) => hold_id)], true)
      }),
    backends: inLedger => inLedger.map(holds.backend),
  })
  return {
    records: {
      ...rules,
      expire: async (now, limit) => rules.expire(await earlier(now), limit),
      takesBlocks: true,
      setOwner: recordOwnerChange(parts),
      usage: async (accountId, now) => driver.read(usageOf(accountId, now, await counters(accountId))),
      commit: async (intents, token) => {
        await checkPrivate(
          database,
          intents.map(({ record }) => record.owner),
        )
        return commits.commit(intents, token)
      },
      page: (filter, offset, limit) => lists.page(filter, offset, limit),
      walk: (filter, page) => lists.walk(filter, page),
    },
    bulk: {
      ...bulk,
      restore: async step => bulk.restore({ ...step, now: await earlier(step.now) }),
      purge: async (id, now) => bulk.purge(id, await earlier(now)),
      endExcess: async request => bulk.endExcess({ ...request, now: await earlier(request.now) }),
      // Otherwise a node whose clock is ahead would begin the same job again and again.
      due: async query => bulk.due({ ...query, now: await earlier(query.now) }),
    },
  }
}

/** Counts a change of expiry in the place of the list that counts the record. Triggers count only new and removed rows. */
async function countExpiring(sql: Sql, { accountId, createdAt, id }: RecordRow, by: number): Promise<void> {
  await sql.run(
    `UPDATE record_places SET expiring = expiring + $4 WHERE (account_id, created_at, id) = (
       SELECT account_id, created_at, id FROM record_places
       WHERE account_id = $1 AND (created_at, id) <= ($2, $3) ORDER BY created_at DESC, id DESC LIMIT 1)`,
    [accountId, createdAt, id, by],
  )
}

function holdsOf(records: readonly HeldRecord[]): string[] {
  return records.flatMap(({ holdId }) => holdId ?? [])
}
