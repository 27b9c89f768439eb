import { randomUUID } from 'node:crypto'
import type { CopySets } from '../../../src/catalogue/copies.ts'
import type { NodeState } from '../../../src/catalogue/fleet.ts'
import type { SetBack } from '../../../src/catalogue/offers.ts'
import type { LastRun, NodeName, SharedOptions } from '../../../src/catalogue/shared-catalogue.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { checkSets, clusterOn, wantSets } from '../copies/copy-sets.ts'
import type { Sql } from '../database/sql.ts'
import { hasEnded } from '../nodes/node-states.ts'
import { NEWEST_SET_BACK } from '../schema/schema-set-backs.ts'

const LAST_RUN = 'SELECT run, confirmed FROM nodes WHERE name = $1'
const RESTORED = 'the data directory was restored: it is older than the database'

interface NodeRow {
  name: string
  number: number
  id: string | null
  state: NodeState
}

type Place = Pick<SharedOptions, 'address' | 'clusterNodes'> & Partial<Pick<SharedOptions, 'copySets' | 'expected'>>
type Joining = Place &
  Pick<SharedOptions, 'newSecret'> & { run: string; past?: Pick<SharedOptions['past'], 'olderSide' | 'begin'> }

/**
 * Registers a data directory as a node, in the transaction of `sql`. A new directory gets the next number. Rows of nodes
 * that have ended keep theirs. The directory of a node that was given up may join as a new node.
 *
 * @returns `returned` is the set-back for which such a node, or a restored directory, offers its content; null for
 * other directories. `isSetBack` is true if the database lacks starts of the node.
 * @throws HoldfastError `CONFIG_INVALID` if the database belongs to other directories, or the node was given up
 */
export async function joinFleet(sql: Sql, directory: NodeName, joining: Joining) {
  const { address, clusterNodes, copySets = {}, newSecret, run, past } = joining
  await sql.run('LOCK TABLE nodes IN EXCLUSIVE MODE')
  const { all, own, lost } = await checkJoin(sql, directory, joining)
  const name = directory.known === null || (lost !== null && lost === own) ? directory.make() : directory.known
  const last = await sql.first<LastRun>(LAST_RUN, [name])
  const older = (last && past?.olderSide(last)) ?? null
  const problem = lost !== null ? returnOf(lost) : older === 'ledger' ? RESTORED : null
  const returned = problem === null ? null : await noteReturn(sql, problem, name)
  past?.begin(run, last?.run ?? null)
  const number = all.find(node => node.name === name)?.number ?? Math.max(-1, ...all.map(node => node.number)) + 1
  await sql.run(
    `INSERT INTO nodes (name, number, id, url, run, clusters, offered, copy_sets)
     VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $7::boolean THEN (${NEWEST_SET_BACK}) END, $8)
     ON CONFLICT (name) DO UPDATE
       SET id = excluded.id, url = excluded.url, run = excluded.run, clusters = excluded.clusters, copy_sets = excluded.copy_sets`,
    [
      name,
      number,
      address?.id ?? null,
      address?.url ?? null,
      run,
      JSON.stringify(clusterNodes),
      directory.known === null,
      JSON.stringify(copySets),
    ],
  )
  await wantSets(sql)
  const kept = await sql.first<{ secret: Uint8Array }>('SELECT secret FROM fleet_secret LIMIT 1')
  const secret = kept?.secret ?? newSecret()
  if (kept === undefined) await sql.run('INSERT INTO fleet_secret (secret) VALUES ($1)', [secret])
  return { name, number, secret, returned, isSetBack: older === 'catalogue' }
}

/**
 * Checks whether the data directory may join, and changes nothing.
 *
 * @throws HoldfastError `CONFIG_INVALID` as {@link joinFleet} does
 */
export async function checkJoin(sql: Sql, directory: NodeName, { address, clusterNodes, ...copies }: Place) {
  if (
    (await sql.first('SELECT 1 FROM moves WHERE node IS DISTINCT FROM $1 LIMIT 1', [directory.known])) !== undefined
  ) {
    throw new HoldfastError(
      'CONFIG_INVALID',
      'database: the catalogue of another data directory is being moved into it',
    )
  }
  const all = await sql.all<NodeRow>('SELECT name, number, id, state FROM nodes')
  const own = all.find(({ name }) => name === directory.known)
  const lost = lostNode(all, own, directory)
  const { copySets = {}, expected = [] } = copies
  checkClusters(all, address, clusterNodes, copySets)
  checkSets(copySets, new Set([...all.flatMap(({ id }) => id ?? []), ...expected, address?.id ?? '']))
  checkOthers(
    all.filter(other => other !== own && !isGivenUp(other)),
    address,
  )
  return { all, own, lost }
}

function isGivenUp({ state }: NodeRow): boolean {
  return hasEnded(state) || state === 'forgetting'
}

/** Returns the node that was given up and whose directory joins as a new node. Null if the directory is ordinary. */
function lostNode(
  all: readonly NodeRow[],
  own: NodeRow | undefined,
  { known, former, isAsNew }: NodeName,
): NodeRow | null {
  const isOwnLost = own !== undefined && isGivenUp(own)
  if (isOwnLost && (own.state === 'retired' || !isAsNew)) throw givenUp(own)
  if (isAsNew && !isOwnLost && former.length === 0) {
    const what = known === null ? 'has not joined the database yet' : 'is not of a node that was given up'
    throw new HoldfastError('CONFIG_INVALID', `node.asNew: this data directory ${what}: start without --as-new`)
  }
  if (own !== undefined) return isOwnLost ? own : null
  // A crash after the directory got its new name, and before the database did.
  return all.findLast(node => former.includes(node.name) && isGivenUp(node)) ?? null
}

function givenUp({ id, state }: NodeRow): HoldfastError {
  const isRetired = state === 'retired'
  const how = isRetired ? 'retired' : 'given up with "holdfast node forget"'
  const remedy = `start with an empty data directory${isRetired ? '' : ', or with --as-new to offer its content'}`
  return new HoldfastError('CONFIG_INVALID', `database: the node ${id} of this data directory was ${how}: ${remedy}`)
}

function returnOf({ id }: NodeRow): string {
  return `the data directory of the node ${id}, which was given up, has returned as a new node`
}

/** Lets a node offer its content before any node releases some. The other nodes have nothing more to offer. */
async function noteReturn(sql: Sql, problem: string, name: string): Promise<SetBack> {
  const setBack = { id: randomUUID(), problem }
  await sql.run(
    `UPDATE nodes SET offered = $1 WHERE offered IS NOT DISTINCT FROM (${NEWEST_SET_BACK}) AND name <> $2`,
    [setBack.id, name],
  )
  await sql.run('INSERT INTO set_backs (id, problem, noticed_by) VALUES ($1, $2, $3)', [setBack.id, problem, name])
  return setBack
}

/** Checks that no cluster is configured on a node that retires or has ended, where content must not arrive. */
function checkClusters(
  all: readonly NodeRow[],
  address: Joining['address'],
  clusterNodes: Joining['clusterNodes'],
  copySets: CopySets,
): void {
  const active = new Set(all.flatMap(({ id, state }) => (state === 'active' && id !== null ? id : [])))
  for (const { id, state } of all) {
    if (state !== 'retiring' && state !== 'retired') continue
    if (id === null || active.has(id) || (id === address?.id && state === 'retired')) continue
    const cluster = clusterOn(id, clusterNodes, copySets)
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
