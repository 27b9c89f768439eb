import type { NewRecord } from '../../../src/catalogue/records.ts'
import type { WantedHold } from '../../../src/ledger/catalogue-holds.ts'
import type { Postgres } from '../database/postgres.ts'
import { live, rowIdentity } from '../lists/record-rows.ts'
import { TAKES_CONTENT } from '../nodes/node-states.ts'
import type { SharedBackend } from './backends.ts'
import { PUT, ROOT, type RootFound, SAME_PRIVATE, SAME_PUBLIC } from './shared-roots.ts'

/** A hold to place for an account. */
export interface HoldRequest extends Omit<WantedHold, 'id' | 'isPlaced'> {
  accountId?: string
  /** The new record of the hold. If an identical live record has content, no hold is placed. */
  unlessRepeated?: { record: NewRecord; now: number } | null
}

/** A hold that the ledger has placed and that a commit can use. */
export interface PlacedHold {
  id: string
  /** Id of the root in the catalogue. */
  rootId: number
  /** The size of the DAG's distinct blocks in bytes. */
  dagSize: number
  charge: number
  contentSize: number
  /** True if the ledger repaired a damaged block. */
  healed?: boolean
}

/** A hold that the catalogue has begun. The ledger must place it before a commit may use it. */
export interface BegunHold extends PlacedHold {
  /** True if all files of the root are in the catalogue. */
  isListed: boolean
  /** True if the root's external backend has the DAG. */
  isPlaced: boolean
}

/**
 * SQL condition. With `IS NOT NULL`, the planner might read all records of the account by the partial index
 * `records_with_content`, before the table has statistics.
 */
const HAS_ROOT = 'COALESCE(root_id, 0) <> 0'

/**
 * SQL expression: the name `$1` of a node, or null if the node was given up. The column refuses null. This stops a
 * process that was cut off from the database and still runs as such a node.
 */
export const UNLESS_ENDED = `CASE WHEN EXISTS (
  SELECT 1 FROM nodes WHERE name = $1 AND state NOT IN ('active', 'retiring')) THEN NULL ELSE $1 END`

/** Columns of which no two complete roots have the same values. */
const KEY = 'multihash, codec, backend_id, owner'

/**
 * Inserts or finds the root of each wanted DAG, and begins a hold on it. The roots stay locked until the holds exist, so
 * nobody can drop them. They are locked in one order, public roots first, to avoid deadlocks.
 */
const BEGIN = `
  WITH wanted AS MATERIALIZED (
    SELECT *, 'hold ' || nextval('hold_numbers') AS hold_id
    FROM unnest($2::integer[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::text[], $11::bytea[], $12::bigint[], $13::bigint[]) WITH ORDINALITY
      AS one (backend_id, codec, multihash, content_size, dag_size, blocks, charge, file_count, account_id, identity,
        now, owner, n)
    WHERE (SELECT 1 FROM records WHERE records.account_id = one.account_id AND records.identity = one.identity
      AND ${HAS_ROOT} AND ${live('one.now')} AND NOT ${TAKES_CONTENT} LIMIT 1) IS NULL
  ), put_public AS (
    INSERT INTO roots (${PUT})
    SELECT DISTINCT ON (multihash, codec, backend_id) ${PUT}
    FROM wanted WHERE owner = 0 ORDER BY multihash, codec, backend_id
    ${SAME_PUBLIC} RETURNING ${ROOT}, ${KEY}
  ), put_private AS (
    INSERT INTO roots (${PUT})
    SELECT DISTINCT ON (multihash, codec, backend_id, owner) ${PUT}
    FROM wanted WHERE owner <> 0 ORDER BY multihash, codec, backend_id, owner
    ${SAME_PRIVATE} RETURNING ${ROOT}, ${KEY}
  ), put AS (
    SELECT * FROM put_public UNION ALL SELECT * FROM put_private
  ), begun AS (
    INSERT INTO holds (id, node, root_id, state)
    SELECT hold_id, ${UNLESS_ENDED}, put.id, 'placing' FROM wanted JOIN put USING (${KEY})
  )
  SELECT n, hold_id AS "holdId", put.id, "dagSize", put.charge, "contentSize", listed, "isPlaced"
  FROM wanted JOIN put USING (${KEY})`

type Begun = RootFound & { n: number; holdId: string }

/**
 * Begins holds with one statement. Returns null for each request whose record exists already.
 *
 * @throws HoldfastError as {@link Postgres.writeRows}. Nobody uses a hold of an unknown outcome, so it expires.
 */
export async function beginHolds(
  database: Postgres,
  { node, backend }: { node: string; backend: SharedBackend },
  requests: readonly HoldRequest[],
): Promise<Array<BegunHold | null>> {
  const dags = requests.map(({ dag }) => dag)
  const records = requests.map(({ unlessRepeated = null }) => unlessRepeated)
  const rows = await database.writeRows<Begun>(BEGIN, [
    node,
    requests.map(({ backendId }) => backend(backendId)),
    dags.map(({ codec }) => codec),
    dags.map(({ multihash }) => multihash),
    dags.map(({ contentSize }) => contentSize),
    dags.map(({ dagSize }) => dagSize),
    dags.map(({ blocks }) => blocks),
    dags.map(({ charge }) => charge),
    dags.map(({ fileCount }) => fileCount),
    records.map(one => one?.record.accountId ?? null),
    records.map(one => one && rowIdentity(one.record)),
    records.map(one => one?.now ?? null),
    dags.map(({ owner }) => owner),
  ])
  const begun: Array<BegunHold | null> = requests.map(() => null)
  for (const { n, holdId, id: rootId, listed: isListed, isPlaced, dagSize, charge, contentSize } of rows) {
    begun[n - 1] = { id: holdId, rootId, isListed, isPlaced, dagSize, charge, contentSize }
  }
  return begun
}
