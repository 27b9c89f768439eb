import type { Catalogue } from '../../src/catalogue/catalogue.ts'
import type { AccountUsage, RecordRow } from '../../src/catalogue/records.ts'
import { bulkRules } from '../../src/catalogue/rules/bulk-rules.ts'
import { type RecordParts, recordRules, usageOf } from '../../src/catalogue/rules/record-rules.ts'
import { accountUsage } from '../../src/catalogue/rules/record-statements.ts'
import { type HeldRecord, heldRecord } from '../../src/catalogue/rules/removal-rules.ts'
import { selectList } from '../../src/catalogue/rules/statement.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { accountReads } from './account-reads.ts'
import type { ContentParts } from './content-change.ts'
import { earlierTime } from './database-time.ts'
import { ownStep, PostgresDriver } from './postgres-driver.ts'
import { RecordCommits } from './record-commits.ts'
import { RecordLists } from './record-lists.ts'
import { foundBy } from './record-rows.ts'
import type { Sql } from './sql.ts'

/** Locks the records in the order of their ids, to avoid deadlocks. */
const REMOVE = `
  DELETE FROM records WHERE id = ANY(ARRAY(SELECT id FROM records WHERE id = ANY($1) ORDER BY id FOR UPDATE))
  RETURNING ${selectList(heldRecord).postgres}`

const COUNTERS = `SELECT id, ${selectList(accountUsage).postgres} FROM accounts WHERE id = ANY($1)`

export function postgresRecords(parts: ContentParts, clock: Clock): Pick<Catalogue, 'records' | 'bulk'> {
  const { database, holds } = parts
  const commits = new RecordCommits(parts)
  const lists = new RecordLists(database)
  const counters = accountReads<AccountUsage & { id: string }>(database, COUNTERS)
  const driver = new PostgresDriver(database)
  const earlier = (now: number): Promise<number> => earlierTime(database.reading, clock, now)
  const removing = (release: (sql: Sql, ids: string[]) => Promise<void>) => (records: readonly RecordRow[]) =>
    ownStep(async sql => {
      const ids = records.map(({ id }) => id)
      const removed = new Map((await sql.all<HeldRecord>(REMOVE, [ids])).map(row => [row.id, row]))
      const rows = ids.flatMap(id => removed.get(id) ?? [])
      await release(sql, holdsOf(rows))
      return rows.map(({ holdId: _, ...row }) => row)
    })
  const removal: RecordParts = {
    found: foundBy,
    remove: removing((sql, ids) => holds.void(sql, ids)),
    // The records are already removed. If the ledger fails now, a later call releases their holds.
    dropReleased: async () => void (await holds.releaseVoid().catch(() => undefined)),
  }
  const rules = recordRules(driver, removal)
  const bulk = bulkRules(driver, {
    ...removal,
    node: holds.node,
    keep: removing((sql, ids) => holds.mute(sql, ids)),
    unkeep: ({ holdId, expiresAt }) =>
      ownStep(async sql => {
        if (holdId !== null) await holds.unmute(sql, holdId, expiresAt)
      }),
    expiring: (record, by) => ownStep(sql => countExpiring(sql, record, by)),
    release: records => ownStep(sql => holds.void(sql, holdsOf(records))),
  })
  return {
    records: {
      ...rules,
      expire: async (now, limit) => rules.expire(await earlier(now), limit),
      takesBlocks: true,
      usage: async (accountId, now) => driver.read(usageOf(accountId, now, await counters(accountId))),
      commit: (intents, token) => commits.commit(intents, token),
      page: (filter, offset, limit) => lists.page(filter, offset, limit),
      walk: (filter, page) => lists.walk(filter, page),
    },
    bulk: {
      ...bulk,
      restore: async step => bulk.restore({ ...step, now: await earlier(step.now) }),
      purge: async (id, now) => bulk.purge(id, await earlier(now)),
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
