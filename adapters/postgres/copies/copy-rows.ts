import type { OwnedDag } from '../../../src/ledger/whole-dag.ts'
import type { Sql, SqlParam } from '../database/sql.ts'
import { NODE_NUMBER } from '../holds/backends.ts'
import { NEWEST_SET_BACK } from '../schema/schema-set-backs.ts'

/** Chooses again where copies are wanted, because a node ends. */
export const WALK_AGAIN = 'UPDATE copy_walk SET place = 0'

/**
 * A planner that saw both owners in one condition could use no index of roots. Without the cast, a parameter for the owner
 * would be an INTEGER, which numbers of accounts exceed.
 */
const rootsBy = (multihash: string, codec: string, owner: string): string => `
    SELECT id, backend_id FROM roots WHERE multihash = ${multihash} AND codec = ${codec} AND owner = 0 AND ${owner}::bigint = 0
    UNION ALL SELECT id, backend_id FROM roots WHERE multihash = ${multihash} AND codec = ${codec}
      AND owner <> 0 AND owner = ${owner}`

/** The roots of a content. */
export const ROOTS_OF_CONTENT = rootsBy('$1', '$2', '$3')

/** Returns an SQL query for the roots of the content of a row of `table`. */
export const rootsOf = (table: string): string => rootsBy(`${table}.multihash`, `${table}.codec`, `${table}.owner`)

/** SQL expression: what a copy that was compared in a run has in its column `run`. */
export const COPY_RUN = (run: string): string => `${run} || ' ' || COALESCE((${NEWEST_SET_BACK}), '')`

/** Locks the copies of a content in one order. */
export const LOCK_COPIES = `
  SELECT id, state, hold_id AS "holdId" FROM copies WHERE multihash = $1 AND codec = $2 AND owner = $3
  ORDER BY node FOR UPDATE`

/** SQL condition: the node `nodes` keeps a root for records, and has not tried in vain to copy its content. */
const keepsRoot = (table: string): string => `nodes.state IN ('active', 'retiring')
    AND EXISTS (SELECT 1 FROM records AS kept WHERE kept.root_id = places.id AND kept.hold_id IS NOT NULL)
    AND NOT EXISTS (
      SELECT 1 FROM copies WHERE copies.multihash = ${table}.multihash AND copies.codec = ${table}.codec
        AND copies.owner = ${table}.owner AND copies.node = nodes.name AND copies.state = 'wanted' AND copies.attempts > 0)`

/**
 * Returns an SQL condition: a node that can take over a record has a copy of its content, or has it for other records. For
 * an `EXISTS`, the planner could read all copies once.
 *
 * @param table the table of the record
 */
export const hasCopy = (table: 'records' | 'removed_records'): string => `(COALESCE((
  SELECT TRUE FROM copies JOIN nodes ON nodes.name = copies.node AND nodes.state IN ('active', 'retiring')
  WHERE copies.multihash = ${table}.multihash AND copies.codec = ${table}.codec AND copies.owner = ${table}.owner
    AND copies.state IN ('have', 'surplus', 'going') LIMIT 1), FALSE)
  OR (EXISTS (SELECT 1 FROM copy_walk) AND COALESCE((
    SELECT TRUE FROM (${rootsOf(table)}) AS places JOIN nodes ON nodes.number = places.${NODE_NUMBER}
    WHERE ${keepsRoot(table)} LIMIT 1), FALSE)))`

const GIVEN = 'unnest($2::bytea[], $3::bigint[], $4::bigint[]) AS given (multihash, codec, owner)'
const WANT_BACK = `
  WITH found AS (
    SELECT multihash, codec, owner FROM ${GIVEN} JOIN copies USING (multihash, codec, owner)
    JOIN nodes ON nodes.name = copies.node AND nodes.state IN ('active', 'retiring')
    WHERE copies.node <> $1 AND copies.state IN ('have', 'surplus', 'going')
    UNION
    SELECT multihash, codec, owner FROM ${GIVEN} JOIN LATERAL (${rootsOf('given')}) AS places ON TRUE
    JOIN nodes ON nodes.number = places.${NODE_NUMBER} AND nodes.name <> $1
    WHERE EXISTS (SELECT 1 FROM copy_walk) AND ${keepsRoot('given')}
  ), made AS (
    INSERT INTO copies (multihash, codec, owner, node)
      SELECT multihash, codec, owner, $1 FROM found ORDER BY multihash, codec, owner ON CONFLICT DO NOTHING)
  SELECT multihash, codec, owner FROM found`
const OWN_HOLDS = `
  SELECT multihash, codec, owner, hold_id AS "holdId" FROM ${GIVEN} JOIN copies USING (multihash, codec, owner)
  WHERE copies.node = $1 AND copies.state IN ('have', 'surplus', 'going')`

/**
 * Wants the content of a node's own records back from other nodes, which have copies or records of it. The records stay as
 * they are.
 *
 * @returns the contents that another node has
 */
export async function wantBack(sql: Pick<Sql, 'all'>, node: string, lost: readonly OwnedDag[]): Promise<Contents> {
  return new Contents(lost.length === 0 ? [] : await sql.all<OwnedDag>(WANT_BACK, [node, ...contentParams(lost)]))
}

/** Returns the contents of which a node has a copy, by the hold that its ledger has. */
export async function ownCopies(
  { node, sql, isSound }: { node: string; sql: Pick<Sql, 'all'>; isSound: (holdId: string) => boolean },
  contents: readonly OwnedDag[],
): Promise<Contents> {
  if (contents.length === 0) return new Contents([])
  const found = await sql.all<OwnedDag & { holdId: string }>(OWN_HOLDS, [node, ...contentParams(contents)])
  return new Contents(found.filter(({ holdId }) => isSound(holdId)))
}

/** Returns the records that need an offer: another node takes the content of its records from a copy of this node. */
export async function withoutCopies<One extends { record: OwnedDag & { status: string; holdId: string | null } }>(
  place: Parameters<typeof ownCopies>[0],
  others: readonly One[],
): Promise<One[]> {
  const held = others.map(({ record }) => record).filter(one => one.status === 'pinned' && one.holdId !== null)
  const copied = await ownCopies(place, held)
  return others.filter(({ record }) => !held.includes(record) || !copied.has(record))
}

/** A set of contents of owners. */
class Contents {
  readonly #keys: ReadonlySet<string>

  constructor(contents: readonly OwnedDag[]) {
    this.#keys = new Set(contents.map(keyOf))
  }

  has(content: OwnedDag): boolean {
    return this.#keys.has(keyOf(content))
  }
}

function keyOf({ multihash, codec, owner }: OwnedDag): string {
  return `${Buffer.from(multihash).toString('hex')} ${codec} ${owner}`
}

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
