import assert from 'node:assert/strict'
import { migrate } from '../../../adapters/postgres/migrate.ts'
import { Postgres } from '../../../adapters/postgres/postgres.ts'
import { migrations } from '../../../adapters/postgres/schema.ts'
import { isHoldfastError } from '../../../src/index.ts'
import { ACCOUNTS, NOW } from '../../catalogue/content-support.ts'
import { type DatabaseWay, type Mishap, openWay } from '../../support/database-way.ts'
import type { TestPostgres } from '../../support/postgres-server.ts'
import { byOther, type TestNode, withAccounts, withNode } from './catalogue-in-postgres.ts'
import { emptied } from './emptied.ts'

/** Everything a mishap may befall ends so: done, refused so that nothing has happened, or nobody can say. */
export type Outcome = 'done' | 'refused' | 'unknown'

/** What the steps of a protocol are, who else acts, and what has to be so in the end. */
export interface Protocol {
  name: string
  /** Of its statements, where there is little time, only one of so many is befallen. Default 1. */
  every?: number
  /** What is recorded has something wrong with it, which this mends. */
  isMending?: boolean
  /** What is there before. */
  before?(nodes: Nodes): Promise<void>
  /** All that a node does, statement by statement. */
  run(node: TestNode): Promise<void>
  /** What others do meanwhile. */
  meanwhile: ReadonlyArray<(nodes: Nodes) => Promise<unknown>>
  /** What is so once all is over, but before anything is removed. */
  after?(nodes: Nodes, outcome: Outcome, mishap: Mishap): Promise<void>
}

export interface Nodes {
  /** That which the mishap befalls, as its other requests see it. */
  here: TestNode
  there: TestNode
  database: Postgres
}

/** Where each node has the content of a cluster. */
const HOMES = {
  here: new Map([
    ['near', 0],
    ['away', 1],
  ]),
  there: new Map([['far', 0]]),
}
/** Later than everything that is recorded. */
const LATER = NOW + 1_000_000
/** What is told when the database cannot be asked, and all else that a protocol may be answered then. */
const REFUSED = ['UNAVAILABLE', 'NOT_FOUND', 'CID_NOT_FOUND', 'CONFLICT', 'QUOTA_EXCEEDED']
const TABLES = ['records', 'holds', 'roots', 'root_files', 'roots_gone', 'fetches', 'removals'] as const

/** Two nodes on one database, one of which is befallen by things on its way there. */
export class Mishaps {
  readonly #way: DatabaseWay
  readonly #befallen: TestNode
  readonly nodes: Nodes

  private constructor(way: DatabaseWay, befallen: TestNode, nodes: Nodes) {
    this.#way = way
    this.#befallen = befallen
    this.nodes = nodes
  }

  static async with(server: TestPostgres, run: (mishaps: Mishaps) => Promise<void>): Promise<void> {
    const url = new URL(await server.fresh())
    // Here it is nodes that stand still, and not the server that ends: where syncs cost nothing there is time for more.
    const options = `${url.searchParams.get('options') ?? ''} -c synchronous_commit=off`
    url.searchParams.set('options', options.trim())
    const way = await openWay(url.href)
    const database = await Postgres.open({ url: url.href })
    const struck = await Postgres.open({ url: way.url })
    try {
      await migrate(database, migrations)
      await withNode(database, 'here', async here => {
        const there = (node: TestNode) =>
          run(new Mishaps(way, byOther(struck, here, 'here'), { here, there: node, database }))
        await withNode(database, 'there', there, 1)
      })
    } finally {
      way.goOn()
      await struck.close()
      await database.close()
      await way.stop()
    }
  }

  /**
   * Has a protocol befallen at one of its statements, and looks at what is left. Returns whether it has so many.
   *
   * @param isLong whether it lasts until the database and the others take the node for gone
   */
  async strike(protocol: Protocol, mishap: Mishap & { at: number }, isLong: boolean): Promise<boolean> {
    const { database } = this.nodes
    await emptied(database)
    await withAccounts(database)
    await protocol.before?.(this.nodes)
    const met = this.#way.befall(mishap).then(() => true)
    const running = outcomeOf(protocol.run(this.#befallen))
    const isMet = await Promise.race([met, running.then(() => false)])
    if (isMet && isLong) await this.#lapse()
    const others = Promise.all(protocol.meanwhile.map(act => act(this.nodes)))
    if (isMet && !isLong) await this.#untilDoneOrWaiting(others)
    else await others
    this.#way.goOn()
    const [outcome] = await Promise.all([running, others])
    await this.#settle(protocol.isMending === true)
    await protocol.after?.(this.nodes, outcome, mishap)
    await this.#empty()
    return isMet
  }

  /** What is begun is over for everybody else, by the database's clock, which is moved. */
  async #lapse(): Promise<void> {
    const { database } = this.nodes
    // As the database ends a transaction of which it has heard nothing for so long.
    await database.reading.all(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = $1 AND state LIKE 'idle in transaction%'`,
      [this.#way.application],
    )
    await database.command("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour'")
    await database.command("UPDATE jobs SET leased_until = leased_until - INTERVAL '1 hour'")
  }

  /** Until the others have done what they do, or wait for what the befallen node has locked. */
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

  /** What is left to be done is done, and everything is as it is said to be. */
  async #settle(isMending: boolean): Promise<void> {
    const { here, there, database } = this.nodes
    for (const account of ACCOUNTS) {
      const told = await here.reconciliation.recount({ accountId: account, limit: 100, mend: false })
      assert.ok(told !== null && told !== 'more')
      assert.deepEqual(told.noted, told.counted, `what ${account} has is not what is counted`)
    }
    await database.command("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour'")
    const homes = [
      [here, HOMES.here],
      [there, HOMES.there],
    ] as const
    for (const [node, clusters] of homes) {
      await node.records.finishRemovals()
      const wrong = await reconciled(node, clusters, true)
      // Of what is recorded something may be too much, and nothing ever too little.
      if (!isMending) assert.deepEqual(wrong, [], 'something that is recorded is not held')
    }
    for (const [node, clusters] of homes) {
      if (isMending) assert.deepEqual(await reconciled(node, clusters, false), [], 'what was mended is not whole')
      assert.deepEqual((await node.reconciliation.roots({ after: 0, limit: 1_000, mend: false })).unwanted, [])
    }
    const held = await database.reading.all<{ id: string; node: string; state: string; needed: boolean }>(
      `SELECT id, node, state, EXISTS (SELECT 1 FROM records WHERE hold_id = holds.id)
         OR EXISTS (SELECT 1 FROM fetches WHERE hold_id = holds.id) AS needed FROM holds ORDER BY id`,
    )
    assert.deepEqual(
      held.filter(({ state, needed }) => state !== 'used' || !needed),
      [],
      'holds are left that nobody needs',
    )
    for (const [name, node] of Object.entries({ here, there })) {
      const own = held.filter(hold => hold.node === name).map(({ id }) => id)
      assert.deepEqual(node.ledger.holdsAfter('', 1_000), own, `the ledger ${name} holds something else`)
    }
  }

  /** All is removed, and nothing is left anywhere. */
  async #empty(): Promise<void> {
    const { here, there, database } = this.nodes
    for (const { id } of await database.reading.all<{ id: string }>('SELECT id FROM records'))
      await here.records.discard(id)
    const fetches = await database.reading.all<{ id: number; node: string }>('SELECT id, node FROM fetches')
    for (const { id, node } of fetches) await (node === 'here' ? here : there).fetches.dropIfUnneeded(id)
    for (const node of [here, there]) {
      await node.reconciliation.holds({ after: '', limit: 1_000, mend: true })
      assert.deepEqual(
        [node.ledger.holdsAfter('', 9), node.ledger.rootsAfter(0, 9)],
        [[], []],
        'a ledger holds something',
      )
      const staged = node.db.prepare<[], { id: number }>("SELECT id FROM roots WHERE state = 'staging'").all()
      assert.deepEqual(staged, [], 'something is staged for ever')
    }
    const counts = TABLES.map(table => `SELECT '${table}' AS table, COUNT(*) AS rows FROM ${table}`)
    const left = await database.reading.all(`SELECT * FROM (${counts.join(' UNION ALL ')}) AS all_rows WHERE rows > 0`)
    assert.deepEqual(left, [], 'rows are left')
    const usage = 'SELECT id FROM accounts WHERE pins <> 0 OR stored_bytes <> 0 OR expiring_pins <> 0'
    assert.deepEqual(await database.reading.all(usage), [], 'accounts are counted as if they had something')
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

/** Goes through all that a node has. Returns which records have something wrong with them. */
async function reconciled(
  { reconciliation }: TestNode,
  homes: ReadonlyMap<string, number>,
  mend: boolean,
): Promise<unknown[]> {
  for (const after of ['', 'z']) await reconciliation.holds({ after, limit: 1_000, mend })
  await reconciliation.roots({ after: 0, limit: 1_000, mend })
  return (await reconciliation.records({ after: '', limit: 1_000, homes, now: LATER, mend })).findings
}
