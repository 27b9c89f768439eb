import { ownCopies } from '../../../adapters/postgres/copies/copy-rows.ts'
import { wantSets } from '../../../adapters/postgres/copies/copy-sets.ts'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import type { SqlParam } from '../../../adapters/postgres/database/sql.ts'
import { beginRetirement } from '../../../adapters/postgres/fleet/begin-retirement.ts'
import { enableVisibility } from '../../../adapters/postgres/fleet/enable-visibility.ts'
import { joinFleet } from '../../../adapters/postgres/fleet/join-fleet.ts'
import { Nodes } from '../../../adapters/postgres/fleet/postgres-nodes.ts'
import { PostgresRevisions } from '../../../adapters/postgres/fleet/postgres-revisions.ts'
import { PostgresPlaces } from '../../../adapters/postgres/holds/shared-places.ts'
import { plainNodes } from '../../../adapters/postgres/lists/private-records.ts'
import { REFUSAL } from '../../../adapters/postgres/nodes/node-claim.ts'
import { FRAMES_RUN } from '../../../adapters/postgres/nodes/node-states.ts'
import { DatabaseHealth } from '../../../adapters/postgres/outages/database-health.ts'
import { DatabasePast } from '../../../adapters/postgres/outages/database-past.ts'
import { postgresContent } from '../../../adapters/postgres/postgres-content.ts'
import { PostgresTakedowns } from '../../../adapters/postgres/postgres-takedowns.ts'
import type { KnownPast } from '../../../src/catalogue/shared-catalogue.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { featureTables } from '../../../src/features/feature-list.ts'
import { Possessor, PUBLIC } from '../../../src/ledger/possessor.ts'
import { commit, DAG, record, SIZES } from '../../catalogue/content-support.ts'
import { withAccounts, withNode } from './catalogue-in-postgres.ts'
import { emptied } from './emptied.ts'

/** Sends each statement about nodes at least once, so that its plan can be checked. */
export async function sendNodeStatements(database: Postgres): Promise<void> {
  await nodes(database)
  await forgotten(database)
  await setBack(database)
  await retired(database)
  await copied(database)
}

/** Runs the statements about nodes and takedowns. */
async function nodes(database: Postgres): Promise<void> {
  const takedowns = new PostgresTakedowns(database)
  const one = { cid: 'c', path: '', status: 410 as const, reason: 'r', at: 1 }
  await takedowns.adopt([one])
  await takedowns.put(one)
  await takedowns.lift(one, 2)
  await takedowns.all()
  const revisions = new PostgresRevisions(database, 'here')
  await revisions.confirm(await revisions.newest())
  await revisions.unconfirmed(1)
  await enableVisibility(database)
  await database.transaction(async sql => {
    const query = async <Row extends object>(text: string) => ({ rows: await sql.all<Row>(text) })
    await new DatabaseHealth(systemClock).check({ query })
  })
  const known = new Nodes(database, systemClock, 'here')
  await known.start()
  await known.all()
  await known.list()
  await known.lost({ after: null, limit: 1 })
  await known.lost({ after: null, limit: 1, account: 'one' })
  await known.stop()
  await database.reading.first(REFUSAL, ['here', 0])
  await plainNodes(database)
  await new PostgresPlaces(database).find(new Uint8Array(34), new Possessor(PUBLIC, systemClock))
}

/** Forgets a node with one record. */
async function forgotten(database: Postgres): Promise<void> {
  await withAccounts(database)
  await withNode(database, 'lost', async node => void (await commit(node, [record('r1')])), 1)
  await withNode(database, 'here', async ({ ledger }) => {
    const { work } = postgresContent(database, ledger, { name: 'here', number: 0, tables: featureTables })
    await database.command("INSERT INTO nodes (name, number, id, url) VALUES ('lost', 1, 'lost', 'http://gone')")
    await new Nodes(database, systemClock, 'here').forget('lost')
    for (const node of await work.lost.nodes()) {
      await work.lost.keptClusters()
      await work.lost.fence(node)
      const step = { node, after: '', homeOf: () => 0, canFetch: async () => false, now: 1 }
      await work.lost.takeOver(step)
      await work.lost.finish(node)
    }
    await joined(database, 'returned', 'lost')
  })
}

/** Notices that the database was set back, and walks through its records. */
async function setBack(database: Postgres): Promise<void> {
  await emptied(database)
  await withAccounts(database)
  await joined(database, 'here')
  let known: KnownPast | null = null
  const kept = {
    get: () => known,
    put: (next: KnownPast) => {
      // The database has lost the set-back that the node knows.
      known = { ...next, setBack: 'lost' }
    },
    newestHolds: () => [1],
    isHeld: () => false,
    olderSide: () => null,
    begin: () => undefined,
    joined: () => undefined,
    follow: () => false,
    revision: () => 0,
    confirm: () => undefined,
  }
  const past = new DatabasePast(kept, 'here', () => undefined)
  await database.transaction(async sql => {
    const query: Parameters<DatabasePast['check']>[0]['query'] = async (text, values) => {
      return { rows: await sql.all(text, values as SqlParam[]) }
    }
    await past.check({ query })
    await past.check({ query })
  })
  await withNode(database, 'here', async ({ offers }) => {
    const pending = await offers.pending()
    if (pending === null) throw new Error('no set-back was noticed')
    while (await offers.compare());
    const step = { setBack: pending, homes: new Map(), limit: 1, now: 1 }
    while (!(await offers.walk(step)).isDone);
    await offers.waitsFor()
    await offers.assign()
    await offers.open({ homes: new Map([['near', 0]]), after: null, limit: 1 })
    const gone = { recordId: 'none', clusterId: 'near', dag: null, backendId: null }
    const offer = { ...gone, node: 'there', nodeId: 'there' }
    await offers.take(offer, { backendId: 0, brought: null, now: 1 })
  })
}

/** Retires a node without content. */
async function retired(database: Postgres): Promise<void> {
  await emptied(database)
  await withAccounts(database)
  for (const id of ['old', 'new']) await joined(database, id)
  await beginRetirement(database, 'old', 'new')
  await withNode(database, 'new', async ({ lost, copies }) => {
    for (const node of await lost.nodes()) {
      await lost.moveWaiting({ node, homeOf: () => 0, now: 1 })
      await lost.finishRetirement(node)
    }
    const made = await copies()
    while (await made?.walk());
  })
}

/** Wants, makes and repairs a copy. */
async function copied(database: Postgres): Promise<void> {
  await emptied(database)
  await withAccounts(database)
  const sets = JSON.stringify({ near: { nodes: ['here', 'there'], copies: 2 } })
  for (const [number, name] of ['here', 'there'].entries()) {
    const node = 'INSERT INTO nodes (name, number, id, url, run, copy_sets) VALUES ($1, $2, $1, $1, $3, $4)'
    await database.command(node, [name, number, `${FRAMES_RUN}1`, sets])
  }
  await database.transaction(wantSets)
  await withNode(database, 'here', async node => void (await commit(node, [record('r1')])))
  await withNode(
    database,
    'there',
    async node => {
      const copies = await node.copies()
      await copies?.walk()
      await copies?.nextDue(true)
      for (const due of (await copies?.due({ isFresh: true, now: 1, limit: 1 })) ?? []) {
        await copies?.sourcesOf(due)
        await copies?.placesOf(due)
        await copies?.counts()
        await database.command("INSERT INTO copy_absences (cluster_id, node) VALUES ('near', 'there')")
        await database.command('UPDATE nodes SET last_seen_at = clock_timestamp()')
        await copies?.presence.observe(() => 1_000, 1_000)
        await copies?.presence.room(true)
        await copies?.presence.room(false)
        await copies?.retry(due, 1, 'later')
        await copies?.take(due, { backendId: 0, stagedRootId: await node.stage(0), dag: { ...SIZES, ...DAG } })
      }
      await ownCopies({ node: 'there', sql: database.reading, isSound: () => true }, [{ ...DAG, owner: 0 }])
      await copies?.promote()
      await database.command("UPDATE copies SET state = 'surplus', node = 'there', run = 'before' WHERE node = 'there'")
      await copies?.compare()
      await database.command('DELETE FROM copy_sets')
      await database.command("UPDATE nodes SET copy_sets = '{}'")
      await copies?.walk()
      await copies?.walk()
      for (const copy of (await copies?.freed.begin(1, 1, 2)) ?? []) await copies?.freed.end(copy, copy.places, 2)
      await copies?.freed.end({ id: 0, ...DAG, owner: 0, places: [] }, [], 2)
    },
    1,
  )
}

async function joined(database: Postgres, id: string, known = id): Promise<void> {
  const address = { id, url: 'http://127.0.0.1:1' }
  const joining = { address, clusterNodes: {}, newSecret: () => new Uint8Array(32), run: id }
  const directory = { known, former: [], isAsNew: known !== id, make: () => id }
  await database.transaction(sql => joinFleet(sql, directory, joining))
  await new Nodes(database, systemClock, id).leave()
}
