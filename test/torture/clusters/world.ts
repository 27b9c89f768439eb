import assert from 'node:assert/strict'
import { join } from 'node:path'
import pg from 'pg'
import type { BackendDefinition } from '../../../src/domain/cluster.ts'
import type { EngineConfig } from '../../../src/index.ts'
import { fixedPort } from '../../support/fixed-port.ts'
import { withDatabase } from '../../support/store-inspection.ts'
import { AccountLog } from '../account-log.ts'
import type { Client } from '../client.ts'
import { TortureServer } from '../torture-server.ts'
import type { Foreign, Place } from './place.ts'
import type { Judge } from './proxy.ts'
import { until } from './until.ts'

const HOUR_MS = 3_600_000

/** Two clusters on the same place. */
const FIRST = 'far'
const SECOND = 'wide'

/** An account, the cluster it uses and the log of its requests. */
export interface Tenant {
  cluster: string
  /** API key; undefined for the owner. */
  key: string | undefined
  log: AccountLog
}

interface Means {
  /** URL of a shared catalogue in PostgreSQL; null for the node's own in SQLite. */
  database: string | null
  report: (text: string) => void
}

/** A node whose clusters an outside backend keeps, and all accounts that use them. */
export class World {
  readonly place: Place
  readonly tenants: readonly Tenant[] = [
    { cluster: FIRST, key: undefined, log: new AccountLog() },
    { cluster: FIRST, key: 'torture-of-the-second-account-0123456789', log: new AccountLog() },
    { cluster: SECOND, key: 'torture-of-the-third-account-0123456789', log: new AccountLog() },
  ]
  /** Contents that others have stored in the backend, to pin by CID. */
  readonly foreign: Foreign[] = []
  /**
   * `theirs` has the names of the pins of others by CID; `open` has the CIDs whose last change has an unknown outcome.
   */
  readonly theirs = new Map<string, string>()
  readonly open = new Set<string>()
  /** True if the node deletes its copies of remote content from the next start on. */
  isThin = false
  /** Rule by which the backend has lied, until its lies have been found. */
  liar: Judge | null = null
  /** Prints a line of progress. */
  readonly report: (text: string) => void
  readonly dataDir: string
  readonly #database: string | null
  readonly #port: number
  #server: TortureServer | null = null

  constructor(place: Place, dataDir: string, port: number, { database, report }: Means) {
    this.report = report
    this.place = place
    this.dataDir = dataDir
    this.#port = port
    this.#database = database
  }

  static async make(place: Place, home: string, means: Means): Promise<World> {
    return new World(place, join(home, 'node'), await fixedPort(), means)
  }

  /** True if its catalogue is in PostgreSQL. */
  get isShared(): boolean {
    return this.#database !== null
  }

  get server(): TortureServer {
    assert.ok(this.#server, 'the node is away')
    return this.#server
  }

  async start(): Promise<void> {
    if (this.#server !== null) return
    const cluster = { label: '', region: '', country: null, gateways: [], backend: this.#backend }
    const options: EngineConfig = {
      clusters: [FIRST, SECOND].map(id => ({ ...cluster, id })),
      defaultCluster: FIRST,
      // Reads a sample large enough for all content, so that one reconciliation finds all damage.
      reconcile: { everyHours: 8_760, sample: 1_000 },
      network: { enabled: true, gateways: this.place.gateways },
      pin: { findTimeoutSeconds: 2, waitSeconds: 1, stallSeconds: 2 },
      ...(this.#database !== null && { database: this.#database }),
    }
    const accounts = Object.fromEntries(
      this.tenants.flatMap(({ key }, i) => (key === undefined ? [] : [[`${i}@example.org`, key]])),
    )
    const environment = { TORTURE_AUTH: this.place.auth }
    this.#server = await TortureServer.start(this.dataDir, { options, accounts, environment, port: this.#port })
  }

  get #backend(): BackendDefinition {
    return { ...this.place.backend, ...(this.isThin && { cacheBytes: 0, localGraceSeconds: 0 }) }
  }

  async kill(): Promise<void> {
    const server = this.#server
    this.#server = null
    await server?.kill()
  }

  clientOf({ cluster, key }: Tenant): Client {
    return this.server.clientOf(cluster, key)
  }

  get owner(): Client {
    return this.server.client
  }

  get acknowledged(): number {
    return this.tenants.reduce((sum, { log }) => sum + log.acknowledged, 0)
  }

  /** Stops the node gracefully. */
  async end(): Promise<void> {
    const server = this.#server
    this.#server = null
    await server?.stop()
  }

  /**
   * Moves all pending times back by an hour while the node is down. No request may be under way, unless it is held on
   * purpose.
   */
  async moveClock({ isHeld = false } = {}): Promise<void> {
    assert.equal(this.#server, null)
    if (!isHeld) await until('nothing is on its way', async () => this.place.proxy.underWay === 0)
    const late = [
      `UPDATE placements SET unpin_until = unpin_until - ${HOUR_MS}`,
      `UPDATE jobs SET due_at = due_at - ${HOUR_MS} WHERE kind = 'placement'`,
    ]
    if (this.#database === null) {
      withDatabase(this.dataDir, db => {
        for (const sql of late) db.prepare(sql).run()
      })
      return
    }
    for (const sql of late) await this.query(sql)
    await this.query("UPDATE jobs SET leased_until = leased_until - INTERVAL '1 hour'")
    await this.query("UPDATE holds SET placed_at = placed_at - INTERVAL '1 hour' WHERE state = 'placing'")
  }

  /** Runs a statement on the catalogue's database. */
  async query(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#database ?? '' })
    await client.connect()
    try {
      await client.query(text)
    } finally {
      await client.end()
    }
  }
}
