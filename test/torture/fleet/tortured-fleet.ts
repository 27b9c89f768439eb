import assert from 'node:assert/strict'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { fixedPort } from '../../support/fixed-port.ts'
import { startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { TortureServer } from '../torture-server.ts'

export const IDS = ['a', 'b', 'c'] as const
export type Id = (typeof IDS)[number]

/** Difference between each node's clock and the database's, in ms. Two nodes differ by two seconds. */
const CLOCKS: Readonly<Record<Id, number>> = { a: 0, b: 1_000, c: -1_000 }

const cluster = { label: '', region: '', country: null, gateways: [] }

/** Three nodes on one database, in their own processes with fixed ports. Each keeps a cluster. */
export class TorturedFleet {
  readonly #home: string
  readonly #ports: ReadonlyMap<Id, number>
  readonly #nodes = new Map<Id, TortureServer>()
  readonly #url: string
  readonly postgres: TestPostgres

  private constructor(home: string, postgres: TestPostgres, url: string, ports: ReadonlyMap<Id, number>) {
    this.#home = home
    this.postgres = postgres
    this.#url = url
    this.#ports = ports
  }

  /** Starts the database and all nodes. The caller stops them with {@link close}. */
  static async open(home: string): Promise<TorturedFleet> {
    const postgres = await startPostgres()
    const ports = new Map<Id, number>()
    for (const id of IDS) ports.set(id, await fixedPort())
    const fleet = new TorturedFleet(home, postgres, await postgres.fresh(), ports)
    try {
      const [first, ...others] = IDS
      await fleet.start(first)
      for (const id of others) {
        // All nodes need the same key: each decrypts secrets that another has encrypted in the database.
        await mkdir(fleet.directory(id), { mode: 0o700 })
        await copyFile(join(fleet.directory(first), 'data.key'), join(fleet.directory(id), 'data.key'))
      }
      await fleet.startAll()
      return fleet
    } catch (error) {
      await fleet.close()
      throw error
    }
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
    const port = this.#ports.get(id) ?? 0
    const options = {
      database: this.#url,
      node: { id, url: `http://127.0.0.1:${port}` },
      clusters: IDS.map(node => ({ ...cluster, id: clusterOf(node), node })),
      defaultCluster: clusterOf('a'),
      network: { enabled: false },
    }
    const environment = { TORTURE_CLOCK_MS: String(CLOCKS[id]) }
    this.#nodes.set(id, await TortureServer.start(this.directory(id), { options, port, environment }))
  }

  async startAll(): Promise<void> {
    for (const id of IDS) if (!this.#nodes.has(id)) await this.start(id)
  }

  async kill(id: Id): Promise<void> {
    const node = this.#nodes.get(id)
    this.#nodes.delete(id)
    await node?.kill()
  }

  /** Runs a statement on the database. */
  async ask<Row extends object>(text: string): Promise<Row[]> {
    const client = await this.connect()
    try {
      return (await client.query<Row>(text)).rows
    } finally {
      await client.end()
    }
  }

  /** Opens a connection to the database. The caller ends it. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#url })
    // Without a listener, a cut connection ends the process.
    client.on('error', () => undefined)
    await client.connect()
    return client
  }

  async close(): Promise<void> {
    for (const id of IDS) await this.kill(id)
    await this.postgres.stop()
  }
}

export function clusterOf(id: Id): string {
  return `of-${id}`
}
