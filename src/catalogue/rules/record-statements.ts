import type { AccountUsage, ListedRecord, RecordRow } from '../records.ts'
import { either, indexed } from './dialect.ts'
import { columnNames, columns, fragment, sql, valuesOf } from './statement.ts'

export const listed = columns<ListedRecord>({
  id: 'text',
  accountId: 'text',
  clusterId: 'text',
  cid: 'text',
  type: 'text',
  status: 'text',
  name: 'text',
  originalName: 'text',
  customName: 'text',
  meta: 'text',
  owner: 'integer',
  size: 'integer',
  dagSize: 'integer',
  expiresAt: 'integer',
  createdAt: 'integer',
})
export const record = columns<RecordRow>({
  ...listed.kinds,
  codec: 'integer',
  multihash: 'bytes',
  rootId: 'integer',
  statusAt: 'integer',
  statusCode: 'text',
  statusReason: 'text',
  fetchId: 'integer',
  charge: 'integer',
})
export const accountUsage = columns<AccountUsage>({ pins: 'integer', expiringPins: 'integer', storedBytes: 'integer' })

export const LIVE_RECORD = '(expires_at IS NULL OR expires_at > :now)'
const OF_DAG_WHERE = 'account_id = :accountId AND multihash = :multihash AND codec = :codec'
const NEWEST_FIRST = 'ORDER BY created_at DESC, id DESC'
const BY_CONTENT = fragment`records ${indexed('records_by_content')}`
const HAS_CONTENT = either('(root_id IS NULL) = 0', 'root_id IS NOT NULL')
/** Condition: a record is identical to the new record. PostgreSQL compares one hash of the columns. */
const REPEATS = either(
  `multihash = :multihash AND codec = :codec AND (root_id IS NULL) IN (0, 1) AND cluster_id = :clusterId
    AND expires_at IS :expiresAt AND name IS :name AND original_name IS :originalName AND custom_name IS :customName
    AND meta IS :meta AND owner = :owner`,
  'identity = :identity',
)

export const GET_RECORD = sql`SELECT ${record} FROM records WHERE id = :id`
export const RECORDS_OF_DAG = sql`
  SELECT ${record} FROM ${BY_CONTENT}
  WHERE ${OF_DAG_WHERE} AND ${LIVE_RECORD} AND (:clusterId${either('', '::text')} IS NULL OR cluster_id = :clusterId)
    AND created_at <= :createdBy ${NEWEST_FIRST} LIMIT :limit`
export const NEWEST_OF_DAG = sql`
  SELECT ${record} FROM ${BY_CONTENT}
  WHERE ${OF_DAG_WHERE} AND (expires_at > :now OR (NOT :hasExpiration AND expires_at IS NULL))
  ${NEWEST_FIRST} LIMIT 1`
/** Includes expired records until they are removed. */
export const HAS_DAG = sql`
  SELECT 1 FROM records ${indexed('records_identical')} WHERE ${OF_DAG_WHERE} AND ${HAS_CONTENT} LIMIT 1`
export const REPEATED_RECORD = sql`
  SELECT ${record} FROM records ${indexed('records_identical')}
  WHERE account_id = :accountId AND ${REPEATS} AND ${LIVE_RECORD} LIMIT 1`
export const EXPIRED_RECORDS = sql`
  SELECT ${record} FROM records ${indexed('records_by_expiry')}
  WHERE expires_at IS NOT NULL AND expires_at <= :now ORDER BY expires_at LIMIT :limit`
export const NEXT_EXPIRY = sql<{ at: number }>`
  SELECT expires_at AS at FROM records ${indexed('records_by_expiry')}
  WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1`
/** Columns that only one of the databases has. Queries use them to find records. */
export const DERIVED = either('search_id, folded_name', 'hold_id, identity, folded_name, words')
const DERIVED_VALUES = either(':searchId, :foldedName', ':holdId, :identity, :foldedName, :words')
export const INSERT_RECORD = sql`
  INSERT INTO records (${columnNames(record)}, ${DERIVED}) VALUES (${valuesOf(record)}, ${DERIVED_VALUES})`
export const SET_NAMES = sql`
  UPDATE records SET name = :name, custom_name = :customName, meta = :meta, folded_name = :foldedName${either(
    '',
    ', identity = :identity, words = :words',
  )} WHERE id = :id`
export const SET_STATUS = sql`
  UPDATE records SET status = :status, status_at = :at, status_code = :code, status_reason = :text WHERE id = :id
  RETURNING ${record}`
export const SET_OWNER = sql`UPDATE records SET owner = :owner, root_id = :rootId WHERE id = :id RETURNING ${record}`
export const SET_FETCH = sql`UPDATE records SET fetch_id = :fetchId WHERE id = :id`
export const SET_WAITING = sql`
  UPDATE records SET fetch_id = :fetchId, root_id = NULL, dag_size = 0, charge = 0 WHERE id = :id`

export const COUNTERS = sql`SELECT ${accountUsage} FROM accounts WHERE id = :accountId`
export const COUNT = sql`
  UPDATE accounts SET pins = pins + :pins, expiring_pins = expiring_pins + :expiringPins,
    stored_bytes = stored_bytes + :storedBytes
  WHERE id = :accountId`
export const COUNT_EXPIRED = sql<{ count: number }>`
  SELECT COUNT(*) AS count FROM records ${indexed('records_by_account_expiry')}
  WHERE account_id = :accountId AND expires_at IS NOT NULL AND expires_at <= :now`
export const COUNT_UNFINISHED = sql<{ count: number }>`
  SELECT COUNT(*) AS count FROM (
    SELECT 1 FROM records ${indexed('records_unfinished')}
    WHERE account_id = :accountId AND status IN ('queued', 'pinning') LIMIT :limit) AS waiting`
