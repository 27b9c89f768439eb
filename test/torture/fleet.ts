import assert from 'node:assert/strict'
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Draws } from '../support/draws.ts'
import { fixedPort } from '../support/fixed-port.ts'
import { startPostgres, type TestPostgres } from '../support/postgres-server.ts'
import { EMPTY, storeSizes } from '../support/store-inspection.ts'
import { AccountLog, now } from './account-log.ts'
import { findStrays, inspect } from './inspection.ts'
import { Load } from './load.ts'
import type { Tortured, TortureOptions } from './torture.ts'
import { TortureServer } from './torture-server.ts'

const IDS = ['a', 'b'] as const
type Id = (typeof IDS)[number]
/** Failures in the middle of a round, each in turn, so that a few rounds cover all. */
const BLOWS = ['kill a', 'kill b', 'crash the database', 'stop b past its lease', 'kill both'] as const
type Blow = (typeof BLOWS)[number]

/** A failure strikes after at most this many answers and a delay of at most `LATER_MS`. The load goes on afterwards. */
const MOST_ANSWERS = 25
const LATER_MS = 60
const ANSWERS_AFTER = 8
/** Collections after which everything removed must be gone. */
const COLLECTIONS = 200
const TABLES = ['records', 'holds', 'roots', 'root_files', 'roots_gone', 'fetches', 'removals', 'placements'] as const

const cluster = { label: '', region: '', country: null, gateways: [] }

/** Two nodes on one database, in their own processes with fixed ports. */
class TorturedFleet {
  readonly #home: string
  readonly #ports: Readonly<Record<Id, number>>
  readonly #nodes = new Map<Id, TortureServer>()
  readonly url: string

  constructor(home: string, url: string, ports: Readonly<Record<Id, number>>) {
    this.#home = home
    this.url = url
    this.#ports = ports
  }

  directory(id: Id): string {
    return join(this.#home, id)
  }

  node(id: Id): TortureServer {
    const node = this.#nodes.get(id)
    assert.ok(node, `node ${id} is away`)
    return node
  }

  async start(id: Id): Promise<void> {
    const port = this.#ports[id]
    const options = {
      database: this.url,
      node: { id, url: `http://127.0.0.1:${port}` },
      clusters: IDS.map(node => ({ ...cluster, id: `of-${node}`, node })),
      defaultCluster: 'of-a',
      network: { enabled: false },
    }
    this.#nodes.set(id, await TortureServer.start(this.directory(id), { options, port }))
  }

  async startAll(): Promise<void> {
    for (const id of IDS) if (!this.#nodes.has(id)) await this.start(id)
  }

  async kill(id: Id): Promise<void> {
    const node = this.#nodes.get(id)
    this.#nodes.delete(id)
    await node?.kill()
  }

  async killAll(): Promise<void> {
    for (const id of IDS) await this.kill(id)
  }

  /** Runs a statement on the database. */
  async ask<Row extends object>(text: string): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url })
    await client.connect()
    try {
      return (await client.query<Row>(text)).rows
    } finally {
      await client.end()
    }
  }
}

/**
 * Loads two nodes on one database with requests for both clusters through both nodes. It kills nodes or the database,
 * or suspends a node past its leases, under load, and inspects both nodes after each round.
 *
 * @throws AssertionError for the first broken promise
 */
export async function tortureFleet({ rounds, seed, minutes, progress = () => {} }: TortureOptions): Promise<Tortured> {
  const home = await mkdtemp(join(tmpdir(), 'holdfast-torture-fleet-'))
  const latest = minutes === undefined ? Number.POSITIVE_INFINITY : now() + minutes * 60_000
  const draws = new Draws(seed)
  const done: Tortured = { rounds: 0, acknowledged: 0 }
  const postgres = await startPostgres()
  const fleet = new TorturedFleet(home, await postgres.fresh(), { a: await fixedPort(), b: await fixedPort() })
  try {
    await fleet.start('a')
    // Both nodes need the same key: each decrypts secrets that the other has encrypted in the database.
    await mkdir(fleet.directory('b'), { mode: 0o700 })
    await copyFile(join(fleet.directory('a'), 'data.key'), join(fleet.directory('b'), 'data.key'))
    const first = draws.below(BLOWS.length)
    const log = new AccountLog()
    for (let round = 0; round < rounds && now() < latest; round++) {
      const before = log.acknowledged
      const blow = BLOWS[(first + round) % BLOWS.length] ?? BLOWS[0]
      const at = await runRound({ fleet, postgres, log, blow }, draws.fork(), round)
      done.acknowledged += log.acknowledged - before
      done.rounds++
      const listed = await inspect(fleet.node('a'), log, at)
      await inspectNodes(fleet)
      log.settle(listed)
      progress(`round ${round + 1} of ${rounds}, ${blow}: ${done.acknowledged} acknowledged`)
    }
    await checkEmptied(fleet)
    return done
  } finally {
    await fleet.killAll()
    await postgres.stop()
    await rm(home, { recursive: true, force: true })
  }
}

interface Struck {
  fleet: TorturedFleet
  postgres: TestPostgres
  log: AccountLog
  blow: Blow
}

/** Runs the load and one failure. Resolves when all nodes run again, with a time later than any acknowledgement. */
async function runRound({ fleet, postgres, log, blow }: Struck, draws: Draws, round: number): Promise<number> {
  await fleet.startAll()
  const loads = IDS.flatMap(through =>
    IDS.map(id => new Load(fleet.node(through).clientOf(`of-${id}`), log, false, true)),
  )
  const answered = (each: number) => Promise.race(loads.map(load => load.answered(each)))
  try {
    const soon = answered(1 + draws.below(MOST_ANSWERS)).then(() => sleep(draws.below(LATER_MS)))
    const running = Promise.all(
      loads.map((load, i) => load.run(draws.fork(), `round ${round} ${i} ${draws.below(2 ** 31)}`)),
    )
    await Promise.race([soon, running])
    await strike(fleet, postgres, blow, draws)
    await Promise.race([answered(MOST_ANSWERS + ANSWERS_AFTER), running, sleep(5_000)])
    for (const load of loads) load.end()
    await running
    return now() + 2
  } finally {
    for (const load of loads) load.end()
  }
}

/** Causes a failure and ends it again. */
async function strike(fleet: TorturedFleet, postgres: TestPostgres, blow: Blow, draws: Draws): Promise<void> {
  const away = () => sleep(draws.below(500))
  if (blow === 'crash the database') {
    await postgres.crash()
    await away()
    return postgres.start()
  }
  if (blow === 'stop b past its lease') {
    fleet.node('b').signal('SIGSTOP')
    await away()
    // Moving the times in the database ends the leases of the suspended node at once.
    await fleet.ask("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour'")
    await fleet.ask("UPDATE jobs SET leased_until = leased_until - INTERVAL '1 hour' WHERE leased_until IS NOT NULL")
    await fleet.node('a').client.json('POST', '/admin/v1/reconcile', { force: true })
    fleet.node('b').signal('SIGCONT')
    return
  }
  const struck = blow === 'kill both' ? IDS : IDS.filter(id => blow === `kill ${id}`)
  for (const id of struck) await fleet.kill(id)
  await away()
  for (const id of struck) await fleet.start(id)
}

/**
 * Checks both nodes: every hold belongs to a record, counts agree, no block is damaged, each node has what it should
 * hold.
 */
async function inspectNodes(fleet: TorturedFleet): Promise<void> {
  // Interrupted uploads count as abandoned after an hour.
  await fleet.ask("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour' WHERE state = 'placing'")
  for (const id of IDS) {
    const { client } = fleet.node(id)
    const looked = await client.json<{ found: Record<string, number> }>('POST', '/admin/v1/reconcile', { dryRun: true })
    const { 'hold-unwanted': _, 'root-unwanted': __, 'file-unknown': ___, ...wrong } = looked.json.found
    assert.deepEqual(wrong, {}, `node ${id}: records and holds do not agree`)
    assert.equal((await client.json('POST', '/admin/v1/reconcile', { force: true })).status, 200)
    const verified = await client.json<{ damaged: unknown[] }>('POST', '/admin/v1/verify')
    assert.deepEqual([verified.status, verified.json.damaged], [200, []], `node ${id}: blocks are damaged`)
  }
  for (const id of IDS) {
    const { client } = fleet.node(id)
    const again = await client.json<{ found: object }>('POST', '/admin/v1/reconcile', { dryRun: true })
    assert.deepEqual(again.json.found, {}, `node ${id}: a difference is left after the repair`)
    await findStrays(fleet.node(id), fleet.directory(id))
  }
  const left = await fleet.ask<{ count: string }>(
    `SELECT COUNT(*) AS count FROM holds h WHERE state <> 'used'
       OR NOT EXISTS (SELECT 1 FROM records r WHERE r.hold_id = h.id) AND NOT EXISTS (SELECT 1 FROM fetches f WHERE f.hold_id = h.id)`,
  )
  assert.equal(left[0]?.count, '0', 'holds are left that no record uses')
}

/** Removes all records through one node and checks that nothing is left on either. */
async function checkEmptied(fleet: TorturedFleet): Promise<void> {
  const { client } = fleet.node('a')
  for (let listed = await client.list(); listed.length > 0; listed = await client.list()) {
    for (const cid of new Set(listed)) {
      const { status } = await client.ask('DELETE', `/api/v3/files/remove/${cid}`)
      assert.ok(status === 200 || status === 404, `${cid} could not be removed: ${status}`)
    }
  }
  for (const id of IDS) {
    for (let i = 0; i < COLLECTIONS; i++) {
      await fleet.node(id).client.json('POST', '/admin/v1/gc', { graceSeconds: 0 })
      const { blocks, roots } = await storeSizes(fleet.directory(id))
      if (blocks + roots === 0) break
      await sleep(20)
    }
    await fleet.node(id).stop()
    assert.deepEqual(
      await storeSizes(fleet.directory(id)),
      EMPTY,
      `node ${id}: something is left after all was removed`,
    )
  }
  for (const table of TABLES) {
    const [row] = await fleet.ask<{ count: string }>(`SELECT COUNT(*) AS count FROM ${table}`)
    assert.equal(row?.count, '0', `rows of ${table} are left after all was removed`)
  }
  const usage = await fleet.ask(
    'SELECT pins::int, stored_bytes::int AS bytes FROM accounts WHERE pins <> 0 OR stored_bytes <> 0',
  )
  assert.deepEqual(usage, [], 'accounts have usage after all was removed')
}
