import type { NodeState } from '../../src/catalogue/fleet.ts'
import type { NodeName, SharedOptions } from '../../src/catalogue/shared-catalogue.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { hasEnded } from './node-states.ts'
import { NEWEST_SET_BACK } from './schema-set-backs.ts'
import type { Sql } from './sql.ts'

interface NodeRow {
  name: string
  number: number
  id: string | null
  state: NodeState
}

type Joining = Pick<SharedOptions, 'address' | 'clusterNodes' | 'newSecret'> & { run: string }

/**
 * Registers a data directory as a node, in the transaction of `sql`. A new directory gets the next number. Rows of nodes
 * that have ended keep theirs.
 *
 * @throws HoldfastError `CONFIG_INVALID` if the database belongs to other directories, or the node was given up
 */
export async function joinFleet(
  sql: Sql,
  { known, make }: NodeName,
  { address, clusterNodes, newSecret, run }: Joining,
) {
  await sql.run('LOCK TABLE nodes IN EXCLUSIVE MODE')
  if ((await sql.first('SELECT 1 FROM moves LIMIT 1')) !== undefined) {
    throw new HoldfastError(
      'CONFIG_INVALID',
      'database: the catalogue of another data directory is being moved into it',
    )
  }
  const all = await sql.all<NodeRow>('SELECT name, number, id, state FROM nodes')
  const own = all.find(({ name }) => name === known)
  if (own !== undefined) checkState(own)
  checkClusters(all, address, clusterNodes)
  checkOthers(
    all.filter(other => other !== own && !isGivenUp(other)),
    address,
  )
  const name = known ?? make()
  const number = own?.number ?? Math.max(-1, ...all.map(node => node.number)) + 1
  await sql.run(
    `INSERT INTO nodes (name, number, id, url, run, clusters, offered)
     VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $7::boolean THEN (${NEWEST_SET_BACK}) END)
     ON CONFLICT (name) DO UPDATE
       SET id = excluded.id, url = excluded.url, run = excluded.run, clusters = excluded.clusters`,
    [name, number, address?.id ?? null, address?.url ?? null, run, JSON.stringify(clusterNodes), known === null],
  )
  const kept = await sql.first<{ secret: Uint8Array }>('SELECT secret FROM fleet_secret LIMIT 1')
  const secret = kept?.secret ?? newSecret()
  if (kept === undefined) await sql.run('INSERT INTO fleet_secret (secret) VALUES ($1)', [secret])
  return { name, number, secret }
}

function isGivenUp({ state }: NodeRow): boolean {
  return hasEnded(state) || state === 'forgetting'
}

function checkState(own: NodeRow): void {
  if (!isGivenUp(own)) return
  const how = own.state === 'retired' ? 'retired' : 'given up with "holdfast node forget"'
  const remedy = 'start with an empty data directory'
  throw new HoldfastError('CONFIG_INVALID', `database: the node ${own.id} of this data directory was ${how}: ${remedy}`)
}

/** Content must not arrive on a node that retires, or on one that has ended. */
function checkClusters(all: readonly NodeRow[], address: Joining['address'], clusterNodes: Joining['clusterNodes']) {
  const active = new Set(all.flatMap(({ id, state }) => (state === 'active' && id !== null ? id : [])))
  for (const { id, state } of all) {
    if (state !== 'retiring' && state !== 'retired') continue
    if (id === null || active.has(id) || (id === address?.id && state === 'retired')) continue
    const [cluster] = Object.entries(clusterNodes).find(([, node]) => node === id) ?? []
    if (cluster === undefined) continue
    const problem = `clusters: ${cluster} is on the node ${id}, which ${state === 'retired' ? 'has retired' : 'is retiring'}`
    throw new HoldfastError('CONFIG_INVALID', `${problem}: name another node`)
  }
}

function checkOthers(others: readonly NodeRow[], address: Joining['address']): void {
  const alone = address === null ? others[0] : others.find(({ id }) => id === null)
  if (alone !== undefined) {
    const reason =
      alone.id === null ? 'which must also set node before this one can join' : 'so this one must set node, too'
    throw new HoldfastError('CONFIG_INVALID', `database: it belongs to another data directory, ${reason}`)
  }
  if (address !== null && others.some(({ id }) => id === address.id)) {
    const remedy = `if that directory is lost, run "holdfast node forget ${address.id}" on another node`
    throw new HoldfastError(
      'CONFIG_INVALID',
      `node.id: ${address.id} is already the id of another data directory; ${remedy}`,
    )
  }
}
