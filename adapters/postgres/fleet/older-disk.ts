import type { SharedOptions } from '../../../src/catalogue/shared-catalogue.ts'
import type { Sql } from '../database/sql.ts'
import { PAST } from '../outages/database-past.ts'
import { NEWEST_REVISION } from '../schema/schema-revisions.ts'

export type JoiningPast = Pick<
  SharedOptions['past'],
  'get' | 'olderSide' | 'begin' | 'newestHolds' | 'isHeld' | 'revision'
>

/** Numbers to look at behind the newest hold of the ledger, and as many before the last one of the catalogue. */
const NUMBERS = 5_000
/** Lacking holds whose records are looked for. */
const LACKING = 32

const NOW = `SELECT past.*, ${NEWEST_REVISION}::float8 AS revision FROM (${PAST}) AS past`
/** The subquery with a limit looks up each number by the key, also before the table has statistics. */
const USED = `
  WITH last AS (SELECT last_value AS number FROM hold_numbers), numbers AS (
    SELECT generate_series($2::bigint + 1, LEAST($2::bigint + ${NUMBERS}, number)) AS number FROM last
    UNION SELECT generate_series(GREATEST($2::bigint, number - ${NUMBERS}) + 1, number) FROM last)
  SELECT number::float8 AS number, "rootId" FROM numbers CROSS JOIN LATERAL (
    SELECT root_id AS "rootId" FROM holds WHERE id = 'hold ' || number AND node = $1 AND state = 'used' LIMIT 1) AS used
  ORDER BY number`
/** An expired record may have lost its content already. */
const IS_NEEDED = `SELECT 1 FROM records WHERE root_id = $1 AND hold_id = 'hold ' || $2::bigint AND status = 'pinned'
  AND expires_at IS NULL LIMIT 1`

/**
 * Returns whether this node lacks content of the newest records, although the database has all that the node has seen.
 * A commit uses a hold only after the ledger has stored it. So the disk was set back to an earlier moment of the same
 * run, as by a snapshot of a running machine. Or the database lacks the latest removals. A reconciliation ends this.
 */
export async function lacksNewest(sql: Sql, node: string, past: JoiningPast): Promise<boolean> {
  const kept = past.get()
  // The operator knows of a problem already.
  if (kept === null || kept.problem !== null) return false
  const now = await sql.first<typeof kept.past & { revision: number }>(NOW)
  const { system, timeline, database } = kept.past
  const isSame = now?.system === system && now.timeline === timeline && now.database === database
  // Each node notices such a database as one that was set back.
  if (!isSame || now.revision < past.revision()) return false
  const newest = Math.max(0, ...past.newestHolds())
  const used = await sql.all<{ number: number; rootId: number | null }>(USED, [node, newest])
  // A hold without a record is that of a fetch or a copy.
  for (const { number, rootId } of used.filter(one => !past.isHeld(one.number)).slice(0, LACKING)) {
    if ((await sql.first(IS_NEEDED, [rootId, number])) !== undefined) return true
  }
  return false
}
