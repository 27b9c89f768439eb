import type { CopyPresence } from '../../../src/catalogue/copies.ts'
import { absencesIn, type ClusterMember, isQuiet } from '../../../src/catalogue/rules/copy-rules.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import type { OwnedDag } from '../../../src/ledger/whole-dag.ts'
import type { Postgres } from '../database/postgres.ts'
import type { Sql } from '../database/sql.ts'
import { contentParams, FOLLOW_COPIES, WALK_AGAIN } from './copy-rows.ts'

/** Time for which nodes keep surplus copies after an absent node has returned, in ms. */
const KEPT_MS = 86_400_000
const STEP = 100
/** An absence of a node that no set of the cluster names any more ends, too. Its copies would never be released. */
const MEMBERS = `
  SELECT DISTINCT s.cluster_id AS "clusterId", n.name AS node, n.id,
    (extract(epoch FROM clock_timestamp() - COALESCE(n.last_seen_at, n.state_at)) * 1000)::float8 AS "silentMs",
    EXISTS (SELECT 1 FROM copy_absences a WHERE a.cluster_id = s.cluster_id AND a.node = n.name) AS "isAbsent"
  FROM copy_sets s JOIN nodes n ON n.id = ANY(s.nodes) AND n.state = 'active'
  UNION ALL
  SELECT a.cluster_id, a.node, NULL, 0, TRUE FROM copy_absences a WHERE NOT EXISTS (
    SELECT 1 FROM copy_sets s JOIN nodes n ON n.id = ANY(s.nodes) AND n.state = 'active'
    WHERE s.cluster_id = a.cluster_id AND n.name = a.node)`
const BEGIN = 'INSERT INTO copy_absences (cluster_id, node) VALUES ($1, $2) ON CONFLICT DO NOTHING'
const END = 'DELETE FROM copy_absences WHERE cluster_id = $1 AND node = $2'
const RETURNED = `
  UPDATE copy_walk SET place = 0, keep_until = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${KEPT_MS}`
const SET_FULL = 'UPDATE nodes SET is_full = $2 WHERE name = $1 AND is_full <> $2'
const FREE_SURPLUS = "UPDATE copies SET due_at = 0 WHERE node = $1 AND state = 'surplus' AND due_at > 0"
const WAITING = `
  SELECT id, multihash, codec, owner FROM copies
  WHERE node = $1 AND state = 'wanted' AND id > $2 ORDER BY id LIMIT ${STEP}`

/** The nodes of clusters with copies. */
export class PostgresCopyPresence implements CopyPresence {
  readonly #database: Postgres
  readonly #node: string
  #isFull: boolean | null = null

  /** @param node the name of this node */
  constructor(database: Postgres, node: string) {
    this.#database = database
    this.#node = node
  }

  async observe(afterMs: (clusterId: string) => number | undefined, unbrokenMs: number): Promise<void> {
    const look = async (sql: Pick<Sql, 'all'>) =>
      absencesIn(await sql.all<ClusterMember>(MEMBERS, []), afterMs, unbrokenMs)
    const { began, ended } = await look(this.#database.reading)
    if (began.length + ended.length === 0) return
    await this.#database.transaction(async sql => {
      // Each node observes. Only one changes the walk at a time.
      await sql.all('SELECT 1 FROM copy_walk FOR UPDATE', [])
      const now = await look(sql)
      for (const { clusterId, node } of now.began) await sql.run(BEGIN, [clusterId, node])
      for (const { clusterId, node } of now.ended) await sql.run(END, [clusterId, node])
      if (now.ended.length > 0) await sql.run(RETURNED, [])
      else if (now.began.length > 0) await sql.run(WALK_AGAIN, [])
    })
  }

  async room(isFull: boolean): Promise<void> {
    if (isFull !== this.#isFull) {
      const changed = await this.#database.command(SET_FULL, [this.#node, isFull])
      if (isFull) await this.#database.command(FREE_SURPLUS, [this.#node])
      else if (changed > 0) await this.#database.command(WALK_AGAIN, [])
      this.#isFull = isFull
    }
    if (isFull) await this.#handOn()
  }

  async #handOn(): Promise<void> {
    for (let after = 0; ; ) {
      const waiting = await this.#database.reading.all<OwnedDag & { id: number }>(WAITING, [this.#node, after])
      if (waiting.length > 0) {
        await this.#database.transaction(sql => sql.all(FOLLOW_COPIES, contentParams(waiting)))
      }
      const last = waiting.at(-1)
      if (last === undefined || waiting.length < STEP) return
      after = last.id
    }
  }
}

/**
 * Has other nodes copy what nodes have that are away, because an operator knows that they stay away for long.
 *
 * @throws HoldfastError `NOT_FOUND` for a node that keeps no copies; `CONFLICT` for one that is up
 */
export async function confirmAway(database: Postgres, ids: readonly string[]): Promise<void> {
  await database.transaction(async sql => {
    await sql.all('SELECT 1 FROM copy_walk FOR UPDATE', [])
    const members = await sql.all<ClusterMember & { id: string }>(MEMBERS, [])
    for (const id of ids) {
      const own = members.filter(member => member.id === id)
      if (own.length === 0) throw new HoldfastError('NOT_FOUND', `no cluster has copies on a node ${id}`)
      if (!own.every(isQuiet)) throw new HoldfastError('CONFLICT', `the node ${id} is up`)
      for (const { clusterId, node } of own) await sql.run(BEGIN, [clusterId, node])
    }
    await sql.run(WALK_AGAIN, [])
  })
}
