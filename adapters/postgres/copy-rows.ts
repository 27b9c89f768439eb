import type { OwnedDag } from '../../src/ledger/whole-dag.ts'
import type { SqlParam } from './sql.ts'

/** Chooses again where copies are wanted, because a node ends. */
export const WALK_AGAIN = 'UPDATE copy_walk SET place = 0'

const rootsOf = (owner: string): string => `
  SELECT id, backend_id FROM roots WHERE multihash = $1 AND codec = $2 AND ${owner}`

/** The roots of a content. A planner that saw both owners in one condition could use no index of roots. */
export const ROOTS_OF_CONTENT = `${rootsOf('owner = 0 AND $3 = 0')} UNION ALL ${rootsOf('owner <> 0 AND owner = $3')}`

/** Locks the copies of a content in one order. */
export const LOCK_COPIES = `
  SELECT id, state, hold_id AS "holdId" FROM copies WHERE multihash = $1 AND codec = $2 AND owner = $3
  ORDER BY node FOR UPDATE`

/**
 * Returns an SQL condition: a node that can take over a record has a copy of its content. For an `EXISTS`, the planner
 * could read all copies once.
 *
 * @param table the table of the record
 */
export const hasCopy = (table: 'records' | 'removed_records'): string => `COALESCE((
  SELECT TRUE FROM copies JOIN nodes ON nodes.name = copies.node AND nodes.state IN ('active', 'retiring')
  WHERE copies.multihash = ${table}.multihash AND copies.codec = ${table}.codec AND copies.owner = ${table}.owner
    AND copies.state IN ('have', 'surplus', 'going') LIMIT 1), FALSE)`

/** Decides again about the copies of contents. */
export const FOLLOW_COPIES = `
  SELECT follow_copies(array_agg(multihash), array_agg(codec), array_agg(owner)) FROM (
    SELECT DISTINCT multihash, codec, owner
    FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS given (multihash, codec, owner)) AS one`

/** Returns the parameters of {@link FOLLOW_COPIES}. */
export function contentParams(contents: readonly OwnedDag[]): SqlParam[] {
  return [
    contents.map(({ multihash }) => multihash),
    contents.map(({ codec }) => codec),
    contents.map(({ owner }) => owner),
  ]
}
