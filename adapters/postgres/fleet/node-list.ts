import type { ListedNode } from '../../../src/catalogue/fleet.ts'
import { SILENT_MS } from '../../../src/catalogue/rules/copy-rules.ts'
import type { Clock } from '../../../src/domain/clock.ts'
import { rootsOf } from '../copies/copy-rows.ts'
import type { Sql } from '../database/sql.ts'
import { NODE_NUMBER } from '../holds/backends.ts'
import { findTakers } from '../moves/offer-takers.ts'
import type { LostPace } from '../nodes/lost-pace.ts'
import { isClaimOf } from '../nodes/node-claim.ts'
import { hasEnded, IS_GIVEN_UP } from '../nodes/node-states.ts'
import { NEWEST_SET_BACK } from '../schema/schema-set-backs.ts'

const COUNTED_FOR_MS = 10_000
const PENDING = 'it has not offered its content yet since the database was set back, or a node returned'
/**
 * Returns an SQL expression: the node has sent a heartbeat recently, by the database's clock.
 *
 * @param silence SQL expression: time in ms for which no node could send one
 */
export const isThereAfter = (silence: string): string =>
  `COALESCE(seen_at > clock_timestamp() - (${SILENT_MS} + ${silence}::float8) * INTERVAL '1 millisecond', FALSE)`
/** SQL expression: a process runs as the node. */
export const IS_LOCKED = `EXISTS (SELECT 1 FROM pg_locks WHERE ${isClaimOf('name')})`
const STATE_AT = '(extract(epoch FROM state_at) * 1000)::bigint'
const SEEN_AT = '(extract(epoch FROM last_seen_at) * 1000)::bigint'
const IS_PENDING = `offered IS DISTINCT FROM (${NEWEST_SET_BACK}) AND NOT ${IS_GIVEN_UP}`
const NODES = `
  SELECT name, number, id, url, state, total, ${STATE_AT} AS "stateAt", ${isThereAfter('$1')} AS "isThere",
    leaving AS "isLeaving", ${SEEN_AT} AS "seenAt", ${IS_LOCKED} AS "isLocked", ${IS_PENDING} AS "isPending"
  FROM nodes WHERE id IS NOT NULL AND url IS NOT NULL ORDER BY number`
const RECORDS = `
  SELECT node AS name, COUNT(*) AS count FROM holds WHERE state = 'used' AND root_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM copies WHERE copies.hold_id = holds.id) GROUP BY node`
const WAITS = `
  SELECT offers.node AS name, takers.id, takers.name AS taker, COUNT(*) AS count
  FROM offers LEFT JOIN nodes AS takers ON takers.name = offers.taker GROUP BY 1, 2, 3 ORDER BY 1, 3`
/** The clusters of the records that move, by the node that retires and the id of the node that takes them. */
const MOVING = `
  SELECT nodes.name, target.id, records.cluster_id AS cluster
  FROM nodes JOIN nodes AS target ON target.name = nodes.retire_to
  JOIN holds ON holds.node = nodes.name JOIN records ON records.hold_id = holds.id
  WHERE nodes.state = 'retiring' GROUP BY 1, 2, 3 ORDER BY 1, 3`
/** Copies that a node has not made yet, or must repair. */
const WANTED_COPIES = `
  SELECT node AS name, COUNT(*) AS count, (extract(epoch FROM MIN(since)) * 1000)::bigint AS since, MIN(last_error) AS reason
  FROM copies WHERE state IN ('wanted', 'damaged') GROUP BY node ORDER BY node`
/** Contents for which copies are wanted, while one node alone has them. */
const ONLY_COPIES = `
  SELECT MAX(nodes.name) AS name, 1 AS count FROM (
    SELECT DISTINCT multihash, codec, owner FROM copies WHERE state = 'wanted') AS one
  JOIN LATERAL (${rootsOf('one')}) AS kept ON TRUE
  JOIN nodes ON nodes.number = kept.${NODE_NUMBER}
  GROUP BY one.multihash, one.codec, one.owner HAVING COUNT(*) = 1 LIMIT 100000`
const isQuietIn = (node: string): string =>
  `COALESCE(${node}.last_seen_at, ${node}.state_at) < clock_timestamp() - ${SILENT_MS} * INTERVAL '1 millisecond'`
/**
 * Nodes that are away or have no room for copies. Others copy what a node has that is away, or wait for an operator to
 * let them.
 */
const HINDERED = `
  SELECT name, is_full AS "isFull",
    (SELECT string_agg(cluster_id, ', ' ORDER BY cluster_id) FROM copy_absences a WHERE a.node = nodes.name) AS away,
    (SELECT string_agg(DISTINCT s.cluster_id, ', ') FROM copy_sets s
      WHERE nodes.id = ANY(s.nodes) AND ${isQuietIn('nodes')}
        AND NOT EXISTS (SELECT 1 FROM copy_absences a WHERE a.node = nodes.name AND a.cluster_id = s.cluster_id)
        AND (SELECT COUNT(*) FROM nodes AS other
          WHERE other.id = ANY(s.nodes) AND other.state = 'active' AND ${isQuietIn('other')}) > 1) AS pending
  FROM nodes WHERE state = 'active'`
const BYTES = `SELECT ${NODE_NUMBER} AS number, SUM(dag_size)::bigint AS bytes FROM roots GROUP BY 1`

interface Count {
  name: string
  count: number
}

interface Hindered {
  name: string
  isFull: boolean
  /** The clusters for which it is away; null without any. */
  away: string | null
  /** The clusters that wait for an operator; null without any. */
  pending: string | null
}

interface WantedCopies extends Count {
  /** In ms since the epoch. */
  since: number
  /** Why an attempt failed; null if none has. */
  reason: string | null
}

interface Waiting {
  name: string
  taker: string | null
  /** The configured id of the taker. */
  id: string | null
  count: number
}

interface Moving {
  name: string
  id: string | null
  cluster: string
}

interface Counted {
  /** Sentences, by the name of the node. */
  waits: ReadonlyMap<string, readonly string[]>
  records: ReadonlyMap<string, number>
  bytes: ReadonlyMap<number, number>
}

/** Lists the nodes for their owner. A count reads all holds and roots, so requests share it for a while. */
export class NodeList {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #pace: LostPace
  #counted: { counts: Promise<Counted>; until: number } | null = null

  constructor(sql: Sql, clock: Clock, pace: LostPace) {
    this.#sql = sql
    this.#clock = clock
    this.#pace = pace
  }

  /** @param silenceMs time for which no node could send a heartbeat */
  async list(silenceMs = 0): Promise<ListedNode[]> {
    const [nodes, counts] = await Promise.all([
      this.#sql.all<Omit<ListedNode, 'records' | 'bytes' | 'waits'> & { isPending: boolean }>(NODES, [silenceMs]),
      this.#counts(),
    ])
    return nodes.map(({ isPending, ...node }) => ({
      ...node,
      waits: [...(isPending ? [PENDING] : []), ...(counts.waits.get(node.name) ?? [])],
      // The counts may be older than the end of the node.
      records: hasEnded(node.state) ? 0 : (counts.records.get(node.name) ?? 0),
      bytes: hasEnded(node.state) ? 0 : (counts.bytes.get(node.number) ?? 0),
    }))
  }

  /** Makes the next call count again. */
  changed(): void {
    this.#counted = null
  }

  #counts(): Promise<Counted> {
    const now = this.#clock.now()
    if (this.#counted === null || now >= this.#counted.until) {
      const counts = this.#count()
      this.#counted = { counts, until: now + COUNTED_FOR_MS }
      counts.catch(() => {
        this.#counted = null
      })
    }
    return this.#counted.counts
  }

  async #count(): Promise<Counted> {
    const [records, bytes, waiting, moving, { keepers }, copies, only, hindered] = await Promise.all([
      this.#sql.all<Count>(RECORDS),
      this.#sql.all<{ number: number; bytes: number }>(BYTES),
      this.#sql.all<Waiting>(WAITS),
      this.#sql.all<Moving>(MOVING),
      findTakers(this.#sql, ''),
      this.#sql.all<WantedCopies>(WANTED_COPIES),
      this.#sql.all<Count>(ONLY_COPIES),
      this.#sql.all<Hindered>(HINDERED),
    ])
    const waits = new Map<string, string[]>()
    const add = (name: string, wait: string): unknown => waits.set(name, [...(waits.get(name) ?? []), wait])
    for (const [name, some] of Map.groupBy(moving, row => row.name)) add(name, moveOf(some, keepers))
    for (const row of waiting) add(row.name, waitOf(row, this.#pace.names))
    for (const [name, some] of Map.groupBy(only, row => row.name)) add(name, onlyOf(some.length))
    for (const { name, isFull, away, pending } of hindered) {
      if (pending !== null)
        add(name, `more than one node of ${pending} is away: "holdfast node away" lets others copy again`)
      if (away !== null) add(name, `it is away, and other nodes copy what it has of ${away}`)
      if (isFull) add(name, 'it has no room for further copies')
    }
    for (const row of copies) add(row.name, copiesOf(row))
    return {
      waits,
      records: new Map(records.map(({ name, count }) => [name, count])),
      bytes: new Map(bytes.map(({ number, bytes: sum }) => [number, sum])),
    }
  }
}

/** @param paces tables of features that the changes of records may have to wait for; `''` without any */
function waitOf({ name, taker, id, count }: Waiting, paces: string): string {
  const records = count === 1 ? '1 record waits' : `${count} records wait`
  if (taker === name)
    return `${records} until ${paces === '' ? '' : `${paces} have room, or until `}the content on it is whole`
  return `${records} until ${id ?? taker ?? 'the node of the cluster'} has the content`
}

/** Warns an operator who wants to restart the node. */
function onlyOf(count: number): string {
  return `${count === 1 ? '1 content has its' : `${count} contents have their`} only copy on it`
}

function copiesOf({ count, since, reason }: WantedCopies): string {
  const waits = count === 1 ? '1 copy is not made on it yet' : `${count} copies are not made on it yet, the oldest`
  return `${waits} since ${new Date(since).toISOString()}${reason === null ? '' : `: ${reason}`}`
}

/** Names the clusters of the records that a node still has to move. */
function moveOf(moving: readonly Moving[], keepers: ReadonlyMap<string, string>): string {
  const clusters = moving.map(({ cluster }) => (keepers.has(cluster) ? cluster : `${cluster} (in no configuration)`))
  return `records of ${clusters.join(', ')} move to ${moving[0]?.id}`
}
