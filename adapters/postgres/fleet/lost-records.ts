import type { LostRecord } from '../../../src/catalogue/fleet.ts'
import type { Page, PageRequest } from '../../../src/catalogue/page.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import type { Sql } from '../database/sql.ts'

const LOST = `
  SELECT account_id AS "accountId", id AS "uploadId", cluster_id AS "clusterId", cid, name, size, status,
    status_reason AS "statusReason", lost_with AS node
  FROM records WHERE lost_with IS NOT NULL AND (account_id, id) > ($1, $2)`
const IN_ORDER = 'ORDER BY account_id, id LIMIT $3'
const OF_ALL = `${LOST} ${IN_ORDER}`
const OF_ONE = `${LOST} AND account_id = $4 ${IN_ORDER}`

/** @throws HoldfastError `VALIDATION` if `after` is not the end of a page */
export async function lostRecords(
  sql: Sql,
  { after, limit, account }: PageRequest & { account?: string | undefined },
): Promise<Page<LostRecord>> {
  const [accountId = '', id = ''] = (after ?? ' ').split(' ')
  if (after?.split(' ').length !== 2 && after != null) throw new HoldfastError('VALIDATION', 'after is not a cursor')
  const found = account === undefined ? [accountId, id, limit + 1] : [accountId, id, limit + 1, account]
  const rows = await sql.all<LostRecord>(account === undefined ? OF_ALL : OF_ONE, found)
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { rows: shown, next: last === undefined ? null : `${last.accountId} ${last.uploadId}` }
}
