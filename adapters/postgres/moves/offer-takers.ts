import { type Takers, takerOf } from '../../../src/catalogue/rules/offer-rules.ts'
import type { Postgres } from '../database/postgres.ts'
import type { Sql } from '../database/sql.ts'
import type { SharedHolds } from '../holds/shared-holds.ts'

interface NodeRow {
  name: string
  id: string | null
  /** JSON object: the node of each cluster. Null if the node has not been started by this version. */
  clusters: string | null
}

interface OwnOffer {
  recordId: string
  clusterId: string
  taker: string | null
  /** Name of the node that has the hold of the record. */
  holder: string | null
  isGone: boolean
}

const STEP = 200
/** The last node that keeps a cluster wins: an active one, and the oldest of them. */
const RUNNING = `
  SELECT name, id, clusters FROM nodes WHERE state IN ('active', 'retiring') ORDER BY state DESC, number DESC`
/**
 * SQL condition: an undo may restore the record of an offer. A limit keeps PostgreSQL from reading all removed records
 * into a hash.
 */
export const IS_REMOVED = 'COALESCE((SELECT TRUE FROM removed_records WHERE id = record_id LIMIT 1), FALSE)'
const OWN = `
  SELECT record_id AS "recordId", offers.cluster_id AS "clusterId", taker, holds.node AS holder,
    records.id IS NULL AND NOT ${IS_REMOVED} AS "isGone"
  FROM offers LEFT JOIN records ON records.id = record_id LEFT JOIN holds ON holds.id = records.hold_id
  WHERE offers.node = $1 AND record_id > $2 ORDER BY record_id LIMIT $3`
const ASSIGN = `
  UPDATE offers SET taker = one.taker FROM unnest($2::text[], $3::text[]) AS one (record_id, taker)
  WHERE offers.node = $1 AND offers.record_id = one.record_id`

/** Returns the nodes that may take content. A cluster is kept by a node whose own configuration says so. */
export async function findTakers(sql: Sql, self: string): Promise<Takers> {
  const nodes = await sql.all<NodeRow>(RUNNING)
  const keepers = new Map<string, string>()
  for (const { name, id, clusters } of nodes) {
    const kept = Object.entries(JSON.parse(clusters ?? '{}') as Record<string, string>)
    for (const [cluster, node] of kept) if (id !== null && node === id) keepers.set(cluster, name)
  }
  return { self, running: new Set(nodes.map(({ name }) => name)), keepers }
}

/** Names again which node takes each offer of this node, and ends the offers whose record is gone. */
export async function assignOffers({ database, holds }: { database: Postgres; holds: SharedHolds }): Promise<void> {
  const takers = await findTakers(database.reading, holds.node)
  for (let after = ''; ; ) {
    const page = await database.reading.all<OwnOffer>(OWN, [holds.node, after, STEP])
    const gone = page.filter(({ isGone }) => isGone)
    await endOffers({ database, holds }, 'record_id = ANY($1)', [gone.map(({ recordId }) => recordId)])
    const moved = page.flatMap(({ isGone, taker, holder: node, ...offer }) => {
      const next = takerOf({ ...offer, node }, takers)
      return isGone || next === taker ? [] : { recordId: offer.recordId, next }
    })
    if (moved.length > 0) {
      const named = [moved.map(({ recordId }) => recordId), moved.map(({ next }) => next)] as const
      await database.command(ASSIGN, [holds.node, ...named])
    }
    after = page.at(-1)?.recordId ?? after
    if (page.length < STEP) return
  }
}

/** Ends offers, and makes their holds void. Returns their number. */
export async function endOffers(
  { database, holds }: { database: Postgres; holds: SharedHolds },
  condition: string,
  params: Parameters<Sql['all']>[1],
): Promise<number> {
  return database.transaction(async sql => {
    const text = `DELETE FROM offers WHERE ${condition} RETURNING hold_id AS "holdId"`
    const ended = (await sql.all<{ holdId: string }>(text, params)).map(({ holdId }) => holdId)
    await holds.void(sql, ended)
    return ended.length
  })
}
