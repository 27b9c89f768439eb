import type { NodeState } from '../../../src/catalogue/fleet.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { WALK_AGAIN } from '../copies/copy-rows.ts'
import { clusterOn } from '../copies/copy-sets.ts'
import type { Postgres } from '../database/postgres.ts'
import { NODE_NUMBER } from '../holds/backends.ts'
import { HAS_ENDED } from '../nodes/node-states.ts'
import { isThereAfter } from './node-list.ts'

interface NodeRow {
  name: string
  id: string
  number: number
  state: NodeState
  isThere: boolean
  /** Name of the node to which its content moves. */
  retireTo: string | null
  /** JSON object: the node of each cluster. Null if the node has not been started by this version. */
  clusters: string | null
  /** JSON object: the nodes and copies of each cluster with more than one copy. */
  copySets: string | null
}

const NODES = `SELECT name, id, number, state, ${isThereAfter('$1')} AS "isThere", retire_to AS "retireTo", clusters, copy_sets AS "copySets" FROM nodes
  WHERE id IS NOT NULL AND NOT ${HAS_ENDED} ORDER BY number`
const EXTERNAL = `SELECT 1 FROM placements WHERE wanted AND ${NODE_NUMBER} = $1 LIMIT 1`
const RETIRE = `
  UPDATE nodes SET state = 'retiring', state_at = clock_timestamp(), retire_to = $2, total = (
    SELECT COUNT(*) FROM holds WHERE node = $1 AND state = 'used' AND root_id IS NOT NULL)
  WHERE name = $1 AND state IN ('active', 'retiring')`

/**
 * Begins to move the content of a node to another node, or changes the other node.
 *
 * @param silenceMs time for which no node could send a heartbeat
 * @throws HoldfastError `NOT_FOUND`; `CONFLICT` if a node is down, a configuration still keeps clusters on the node, or
 * its content is on another system; `CONFLICT` if content of another node still moves to it
 */
export async function beginRetirement(database: Postgres, id: string, to: string, silenceMs = 0): Promise<void> {
  await database.transaction(async sql => {
    // No node joins with another configuration meanwhile.
    await sql.run('LOCK TABLE nodes IN EXCLUSIVE MODE')
    const nodes = await sql.all<NodeRow>(NODES, [silenceMs])
    const [node, target] = [id, to].map(wanted => {
      const found = nodes.find(one => one.id === wanted)
      if (found === undefined) throw new HoldfastError('NOT_FOUND', `there is no node ${wanted}`)
      return found
    }) as [NodeRow, NodeRow]
    if (node === target) throw new HoldfastError('VALIDATION', 'to: must name another node')
    checkStates(node, target)
    checkArrivals(nodes, node)
    checkClusters(nodes, id, to)
    if ((await sql.first(EXTERNAL, [node.number])) !== undefined) {
      const remedy = 'remove these pins, or pin them again in another cluster, before the node retires'
      throw new HoldfastError(
        'CONFLICT',
        `${id} has content in a cluster on another system, which does not move: ${remedy}`,
      )
    }
    await sql.run(RETIRE, [node.name, target.name])
    await sql.run(WALK_AGAIN)
  })
}

function checkStates(node: NodeRow, target: NodeRow): void {
  if (node.state !== 'active' && node.state !== 'retiring') {
    throw new HoldfastError('CONFLICT', `the node ${node.id} is ${node.state}`)
  }
  if (target.state !== 'active') throw new HoldfastError('CONFLICT', `the node ${target.id} is ${target.state}`)
  for (const { id, isThere } of [node, target]) {
    if (!isThere) throw new HoldfastError('CONFLICT', `the node ${id} is down: start it first`)
  }
}

function checkArrivals(nodes: readonly NodeRow[], { name, id }: NodeRow): void {
  const other = nodes.find(({ state, retireTo }) => state === 'retiring' && retireTo === name)
  if (other === undefined) return
  const remedy = `wait until ${other.id} has retired, or run "holdfast node retire ${other.id}" with another node in --to`
  throw new HoldfastError('CONFLICT', `the content of ${other.id} still moves to ${id}: ${remedy}`)
}

/** Checks that no node was started with a cluster on the retiring node, where new content would still arrive. */
function checkClusters(nodes: readonly NodeRow[], id: string, to: string): void {
  for (const { id: by, clusters, copySets, state } of nodes) {
    if (state === 'forgetting') continue
    const cluster = clusterOn(id, JSON.parse(clusters ?? '{}'), JSON.parse(copySets ?? '{}'))
    if (cluster === undefined && clusters !== null) continue
    const problem =
      cluster === undefined ? `${by} has not told its clusters` : `${by} was started with ${cluster} on ${id}`
    const remedy = `name "${to}" or other nodes for the clusters of ${id} in the configuration of every node, restart ${to}, then all others`
    throw new HoldfastError('CONFLICT', `${problem}: ${remedy}`)
  }
}
