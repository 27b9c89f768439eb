import assert from 'node:assert/strict'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { migrate } from '../../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../../adapters/postgres/schema/schema.ts'
import { isHoldfastError } from '../../../src/index.ts'
import { ACCOUNTS, NOW } from '../../catalogue/content-support.ts'
import { holdsIn, rootsIn, whole } from '../../catalogue/whole-reconciliation.ts'
import { type DatabaseProxy, type Fault, openProxy } from '../../support/database-proxy.ts'
import type { SharedPostgres } from '../../support/postgres-server.ts'
import { byOther, type TestNode, withAccounts, withNode } from './catalogue-in-postgres.ts'
import { emptied } from './emptied.ts'
import { asynchronous } from './opened-database.ts'

/** Outcome of an operation: success, a refusal without effect, or unknown. */
export type Outcome = 'done' | 'refused' | 'unknown'

/** An operation under faults, the concurrent operations of others, and the checks at the end. */
export interface Protocol {
  name: string
  /** In short runs, faults hit only every n-th statement. Default 1. */
  every?: number
  /** True if the operation repairs a damaged record. */
  isMending?: boolean
  /** Prepares the state before the operation. */
  before?(nodes: Nodes): Promise<void>
  /** The operation of the node under test. */
  run(node: TestNode): Promise<void>
  /** Concurrent operations of other nodes and requests. */
  meanwhile: ReadonlyArray<(nodes: Nodes) => Promise<unknown>>
  /** Checks the state after everything has ended, before the records are removed. */
  after?(nodes: Nodes, outcome: Outcome, fault: Fault): Promise<void>
}

export interface Nodes {
  /** The node under test, through its other connections. */
  here: TestNode
  there: TestNode
  database: Postgres
}

/** The backend of each cluster, by node. */
const HOMES = {
  here: new Map([
    ['near', 0],
    ['away', 1],
  ]),
  there: new Map([['far', 0]]),
}
/** A time after all records were written. */
const LATER = NOW + 1_000_000
/** Codes that a refused operation may have. */
const REFUSED = ['UNAVAILABLE', 'NOT_FOUND', 'CID_NOT_FOUND', 'CONFLICT', 'QUOTA_EXCEEDED']
const TABLES = ['records', 'holds', 'roots', 'root_files', 'roots_gone', 'fetches', 'removals'] as const

/** Two nodes on one database. Faults hit the connections of one of them. */
export class FaultRuns {
  readonly #proxy: DatabaseProxy
  readonly #target: TestNode
  readonly nodes: Nodes

  private constructor(proxy: DatabaseProxy, target: TestNode, nodes: Nodes) {
    this.#proxy = proxy
    this.#target = target
    this.nodes = nodes
  }

  static async with(server: SharedPostgres, run: (runs: FaultRuns) => Promise<void>): Promise<void> {
    // The nodes stop, not the server. Without syncs the tests run more statements.
    const url = asynchronous(await server.migrated())
    const proxy = await openProxy(url)
    const database = await Postgres.open({ url })
    const faulty = await Postgres.open({ url: proxy.url })
    try {
      await migrate(database, migrations)
      await withNode(database, 'here', async here => {
        const there = (node: TestNode) =>
          run(new FaultRuns(proxy, byOther(faulty, here, 'here'), { here, there: node, database }))
        await withNode(database, 'there', there, 1)
      })
    } finally {
      proxy.recover()
      await faulty.close()
      await database.close()
      await proxy.stop()
    }
  }

  /**
   * Runs a protocol with a fault at one statement and checks the result. Returns false if the protocol has fewer
   * statements.
   *
   * @param isLong true if the fault lasts until leases and holds have expired
   */
  async strike(protocol: Protocol, fault: Fault & { at: number }, isLong: boolean): Promise<boolean> {
    const { database } = this.nodes
    await emptied(database)
    await withAccounts(database)
    await protocol.before?.(this.nodes)
    const met = this.#proxy.inject(fault).then(() => true)
    const running = outcomeOf(protocol.run(this.#target))
    const isMet = await Promise.race([met, running.then(() => false)])
    if (isMet && isLong) await this.#lapse()
    const others = Promise.all(protocol.meanwhile.map(act => act(this.nodes)))
    if (isMet && !isLong) await this.#untilDoneOrWaiting(others)
    else await others
    this.#proxy.recover()
    const [outcome] = await Promise.all([running, others])
    await this.#settle(protocol.isMending === true)
    await protocol.after?.(this.nodes, outcome, fault)
    await this.#empty()
    return isMet
  }

  /** Expires transactions, holds and leases as seen by others. */
  async #lapse(): Promise<void> {
    const { database } = this.nodes
    // The database ends idle transactions after a timeout.
    await database.reading.all(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = $1 AND state LIKE 'idle in transaction%'`,
      [this.#proxy.application],
    )
    await database.command("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour'")
    await database.command("UPDATE jobs SET leased_until = leased_until - INTERVAL '1 hour'")
  }

  /** Waits until the other operations are done or wait for a lock of the node under test. */
  async #untilDoneOrWaiting(others: Promise<unknown>): Promise<void> {
    let isDone = false
    const done = others.finally(() => {
      isDone = true
    })
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1`
    while (!isDone) {
      if ((await this.nodes.database.reading.first(waiting)) !== undefined) return
    }
    await done
  }

  /** Finishes all pending work, then checks that counters, holds and ledgers agree. */
  async #settle(isMending: boolean): Promise<void> {
    const { here, there, database } = this.nodes
    for (const account of ACCOUNTS) {
      const recounted = await here.reconciliation.recount({ accountId: account, limit: 100, mend: false })
      assert.ok(recounted !== null && recounted !== 'more')
      assert.deepEqual(recounted.noted, recounted.counted, `the counters of ${account} must be exact`)
    }
    await database.command("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour'")
    const homes = [
      [here, HOMES.here],
      [there, HOMES.there],
    ] as const
    for (const [node, clusters] of homes) {
      await node.records.finishRemovals()
      const wrong = await reconciled(node, clusters, true)
      // A fault may leave too much held, never too little.
      if (!isMending) assert.deepEqual(wrong, [], 'every record must be held')
    }
    for (const [node, clusters] of homes) {
      if (isMending) assert.deepEqual(await reconciled(node, clusters, false), [], 'repaired records must be whole')
      assert.deepEqual((await whole(node.reconciliation).roots({ after: 0, limit: 1_000, mend: false })).unwanted, [])
    }
    const held = await database.reading.all<{ id: string; node: string; state: string; needed: boolean }>(
      `SELECT id, node, state, EXISTS (SELECT 1 FROM records WHERE hold_id = holds.id)
         OR EXISTS (SELECT 1 FROM fetches WHERE hold_id = holds.id) AS needed FROM holds ORDER BY id`,
    )
    assert.deepEqual(
      held.filter(({ state, needed }) => state !== 'used' || !needed),
      [],
      'no unneeded hold may be left',
    )
    for (const [name, node] of Object.entries({ here, there })) {
      const own = held.filter(hold => hold.node === name).map(({ id }) => id)
      assert.deepEqual(holdsIn(node.ledger), own, `the ledger ${name} must have the holds of the catalogue`)
    }
  }

  /** Removes everything, and checks that nothing is left. */
  async #empty(): Promise<void> {
    const { here, there, database } = this.nodes
    for (const { id } of await database.reading.all<{ id: string }>('SELECT id FROM records'))
      await here.records.discard(id)
    const fetches = await database.reading.all<{ id: number; node: string }>('SELECT id, node FROM fetches')
    for (const { id, node } of fetches) await (node === 'here' ? here : there).fetches.dropIfUnneeded(id)
    for (const node of [here, there]) {
      await whole(node.reconciliation).holds({ after: '', limit: 1_000, mend: true })
      assert.deepEqual([holdsIn(node.ledger), rootsIn(node.ledger)], [[], []], 'the ledgers must be empty')
      const staged = node.db.prepare<[], { id: number }>("SELECT id FROM roots WHERE state = 'staging'").all()
      assert.deepEqual(staged, [], 'no staged root may be left')
    }
    const counts = TABLES.map(table => `SELECT '${table}' AS table, COUNT(*) AS rows FROM ${table}`)
    const left = await database.reading.all(`SELECT * FROM (${counts.join(' UNION ALL ')}) AS all_rows WHERE rows > 0`)
    assert.deepEqual(left, [], 'no row may be left')
    const usage = 'SELECT id FROM accounts WHERE pins <> 0 OR stored_bytes <> 0 OR expiring_pins <> 0'
    assert.deepEqual(await database.reading.all(usage), [], 'all counters must be zero')
  }
}

async function outcomeOf(running: Promise<void>): Promise<Outcome> {
  try {
    await running
    return 'done'
  } catch (error) {
    if (isHoldfastError(error, 'OUTCOME_UNKNOWN')) return 'unknown'
    if (isHoldfastError(error) && REFUSED.includes(error.code)) return 'refused'
    throw error
  }
}

/** Reconciles a whole node. Returns the damaged records. */
async function reconciled(
  { reconciliation }: TestNode,
  homes: ReadonlyMap<string, number>,
  mend: boolean,
): Promise<unknown[]> {
  const { holds, roots, records } = whole(reconciliation)
  await holds({ after: '', limit: 1_000, mend })
  await roots({ after: 0, limit: 1_000, mend })
  return (await records({ after: '', limit: 1_000, homes, now: LATER, mend })).findings
}
