import type { RecordFilter } from '../../../src/catalogue/records.ts'
import type { Conditions, Searching } from './record-conditions.ts'

const NEVER = Number.MAX_SAFE_INTEGER

/** Returns the column of `accounts` that counts the records. */
export function counter(hasExpiration: boolean): string {
  return hasExpiration ? 'expiring_pins' : 'pins'
}

/** Returns SQL for the number of records within the bounds of time, expired ones included. */
export function boundedCount(
  conditions: Conditions,
  hasExpiration: boolean,
  { before, after }: Searching['search'],
): string {
  const newest = before === null ? counter(hasExpiration) : olderThan(conditions.param(before), hasExpiration)
  return after === null ? newest : `${newest} - ${olderThan(conditions.param(after + 1), hasExpiration)}`
}

/**
 * Returns SQL for the number of records created before a time: all places that begin before it, without the newer
 * records of the last one. Parameter 1 is the account.
 */
function olderThan(time: string, hasExpiration: boolean): string {
  const next = `FROM record_places WHERE account_id = $1 AND created_at >= ${time} ORDER BY created_at, id LIMIT 1`
  return `((SELECT COALESCE(SUM(${hasExpiration ? 'expiring' : 'records'}), 0) FROM record_places
      WHERE account_id = $1 AND created_at < ${time})
    - (SELECT COUNT(*) FROM records WHERE account_id = $1 AND created_at >= ${time}
         ${hasExpiration ? 'AND expires_at IS NOT NULL ' : ''}AND (created_at, id) <
         (COALESCE((SELECT created_at ${next}), ${NEVER}), COALESCE((SELECT id ${next}), ''))))`
}

/**
 * Returns SQL that finds the last row of `record_places` with at most `most` live records before it.
 *
 * A row counts expired records until they are removed, so the query subtracts them. Parameter 1 is the account,
 * parameter 2 the current time.
 */
export function countedPlace({ hasExpiration }: RecordFilter, most: string): string {
  return `SELECT created_at, id, passed FROM (
    SELECT created_at, id, is_place, SUM(count) OVER (ORDER BY created_at DESC, id DESC)::bigint AS passed FROM (
      SELECT created_at, id, ${hasExpiration ? 'expiring' : 'records'} AS count, TRUE AS is_place
      FROM record_places WHERE account_id = $1
      UNION ALL
      SELECT created_at, id, -1, FALSE FROM records WHERE account_id = $1 AND expires_at <= $2) AS counts) AS sums
    WHERE is_place AND passed <= ${most} ORDER BY created_at, id LIMIT 1`
}
