import { HoldfastError } from '../../../src/domain/errors.ts'
import { WALK_AGAIN } from '../copies/copy-rows.ts'
import type { Postgres } from '../database/postgres.ts'
import type { Sql } from '../database/sql.ts'
import { claimOf } from '../nodes/node-claim.ts'
import { changeState } from '../nodes/node-states.ts'
import { NODES_CHANNEL } from '../outages/credential-changes.ts'

interface Found {
  name: string
  state: string
}

/**
 * Gives up a node. Its process can neither run nor start meanwhile, because this takes its lock.
 *
 * @param isReplaced true if a new directory will run under the id, and take over its clusters
 * @throws HoldfastError `NOT_FOUND`; `CONFLICT` if a process runs as the node, or a configuration still names it
 */
export function forgetNode(database: Postgres, id: string, isReplaced: boolean): Promise<void> {
  return database.transaction(async sql => {
    const text = `SELECT name, state FROM nodes WHERE id = $1 AND state IN ('active', 'retiring', 'forgetting')
      ORDER BY state LIMIT 1`
    const found = await sql.first<Found>(text, [id])
    if (found === undefined) throw new HoldfastError('NOT_FOUND', `there is no node ${id}`)
    if (found.state === 'forgetting') return
    await checkGone(sql, found.name, id)
    if (!isReplaced) await checkClusters(sql, found.name, id)
    const counted = await sql.first<{ total: number }>(
      `SELECT COUNT(*) AS total FROM holds WHERE node = $1 AND state = 'used' AND root_id IS NOT NULL`,
      [found.name],
    )
    const from = found.state === 'retiring' ? 'retiring' : 'active'
    await changeState(sql, found.name, { from, to: 'forgetting', total: counted?.total ?? 0 })
    await sql.run(WALK_AGAIN)
    await sql.run(`SELECT pg_notify($1, name) FROM nodes WHERE state IN ('active', 'retiring')`, [NODES_CHANNEL])
  })
}

async function checkGone(sql: Sql, name: string, id: string): Promise<void> {
  const locked = await sql.first<{ taken: boolean }>(`SELECT pg_try_advisory_xact_lock(${claimOf('$1')}) AS taken`, [
    name,
  ])
  if (locked?.taken === true) return
  throw new HoldfastError('CONFLICT', `a process is running as the node ${id}: stop it first`)
}

async function checkClusters(sql: Sql, name: string, id: string): Promise<void> {
  const others = await sql.all<{ id: string; clusters: string | null }>(
    `SELECT id, clusters FROM nodes WHERE state IN ('active', 'retiring') AND name <> $1 ORDER BY number`,
    [name],
  )
  for (const other of others) {
    const kept = Object.entries(JSON.parse(other.clusters ?? '{}') as Record<string, string>)
    const [cluster] = kept.find(([, node]) => node === id) ?? []
    if (cluster === undefined) continue
    const problem = `the node ${other.id} was started with the cluster ${cluster} on the node ${id}`
    const remedy = `set "node" of its clusters to other nodes and restart all nodes, or say that a new one replaces it`
    throw new HoldfastError('CONFLICT', `${problem}: ${remedy}`)
  }
}
