import assert from 'node:assert/strict'
import { copyFile, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { fixedPort } from '../../support/fixed-port.ts'
import { startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { AccountLog } from '../account-log.ts'
import type { Client } from '../client.ts'
import { TortureServer } from '../torture-server.ts'
import { Link } from './link.ts'

/** Places of nodes. A place keeps its port, and gets another node if its node was lost or has retired. */
const IDS = ['a', 'b', 'c', 'd', 'e'] as const
export type Id = (typeof IDS)[number]

/** Difference between each node's clock and the database's, in ms. Two nodes differ by two seconds. */
const CLOCKS: Readonly<Record<Id, number>> = { a: 0, b: 1_000, c: -1_000, d: 500, e: -500 }
/** Difference between the clocks of a node and the test, and some time for the removal of expired records. */
const SKEW_MS = 2_000

const cluster = { label: '', region: '', country: null, gateways: [] }

/** An account, and the log of its requests. */
export interface Tenant {
  id: string
  /** API key; undefined for the owner. */
  key: string | undefined
  log: AccountLog
}

/** The nodes of a fleet, and how many of them keep each content. */
export interface FleetSize {
  nodes: number
  copies: number
}

const GUEST = { email: 'guest@example.org', key: 'torture-of-the-second-account-0123456789' }

interface Place {
  port: number
  /** The way from other nodes. */
  link: Link
  /** Id of its node. */
  node: string
  /** Number of nodes that it has had. */
  nodes: number
  server: TortureServer | null
}

/** Nodes on one database, in their own processes with fixed ports. Each keeps a cluster, perhaps with copies on others. */
export class TorturedFleet {
  readonly #home: string
  readonly #places: ReadonlyMap<Id, Place>
  /** Place whose node keeps the cluster of a place, in the configuration of the next start. */
  readonly #homes: Map<Id, Id>
  readonly ids: readonly Id[]
  readonly copies: number
  readonly #url: string
  readonly postgres: TestPostgres
  /** The owner, and a guest. */
  readonly tenants: readonly [Tenant, Tenant] = [
    { id: '', key: undefined, log: new AccountLog(SKEW_MS) },
    { id: '', key: GUEST.key, log: new AccountLog(SKEW_MS) },
  ]

  private constructor(
    home: string,
    { postgres, url }: { postgres: TestPostgres; url: string },
    places: ReadonlyMap<Id, Place>,
    copies: number,
  ) {
    this.#home = home
    this.postgres = postgres
    this.#url = url
    this.#places = places
    this.ids = [...places.keys()]
    this.#homes = new Map(this.ids.map(id => [id, id]))
    this.copies = copies
  }

  /** Starts the database and all nodes. The caller stops them with {@link close}. */
  static async open(home: string, { nodes, copies }: FleetSize): Promise<TorturedFleet> {
    const postgres = await startPostgres()
    const places = new Map<Id, Place>()
    for (const id of IDS.slice(0, nodes)) {
      const port = await fixedPort()
      places.set(id, { port, link: await Link.open(port), node: id, nodes: 1, server: null })
    }
    const fleet = new TorturedFleet(home, { postgres, url: await postgres.fresh() }, places, copies)
    try {
      const [first = 'a', ...others] = fleet.ids
      await fleet.start(first)
      const accounts = await fleet.ask<{ id: string }>("SELECT id FROM accounts ORDER BY role = 'owner' DESC")
      for (const [i, tenant] of fleet.tenants.entries()) tenant.id = accounts[i]?.id ?? ''
      for (const id of others) await fleet.#makeDirectory(id, first)
      await fleet.startAll()
      return fleet
    } catch (error) {
      await fleet.close()
      throw error
    }
  }

  directory(id: Id): string {
    return join(this.#home, this.nameOf(id))
  }

  /** Returns the id of the node at a place. */
  nameOf(id: Id): string {
    return this.#place(id).node
  }

  /** Returns the way from other nodes to the node at a place. */
  link(id: Id): Link {
    return this.#place(id).link
  }

  node(id: Id): TortureServer {
    const { server } = this.#place(id)
    assert.ok(server, `node ${id} is away`)
    return server
  }

  /** Returns a client of an account for all clusters, or for that of a place. */
  clientOf({ key }: Tenant, through: Id = 'a', cluster: Id | null = null): Client {
    return this.node(through).clientOf(cluster && clusterOf(cluster), key)
  }

  async start(id: Id): Promise<void> {
    const place = this.#place(id)
    const options = {
      database: this.#url,
      node: { id: place.node, url: place.link.url, expected: this.ids.map(other => this.nameOf(other)) },
      clusters: this.ids.map(other => ({ ...cluster, id: clusterOf(other), ...this.#keepersOf(other) })),
      defaultCluster: clusterOf('a'),
      network: { enabled: false },
    }
    const environment = { TORTURE_CLOCK_MS: String(CLOCKS[id]) }
    const accounts = { [GUEST.email]: GUEST.key }
    place.server = await TortureServer.start(this.directory(id), { options, port: place.port, environment, accounts })
  }

  async startAll(): Promise<void> {
    for (const id of this.ids) if (this.#place(id).server === null) await this.start(id)
  }

  async kill(id: Id): Promise<void> {
    const place = this.#place(id)
    const { server } = place
    place.server = null
    await server?.kill()
  }

  /** Stops a node as an operator does, or kills it. */
  async end(id: Id, isKilled: boolean): Promise<void> {
    if (isKilled) return this.kill(id)
    const place = this.#place(id)
    const { server } = place
    place.server = null
    await server?.stop()
  }

  /** Puts the cluster of a place on the node of another, in the configuration of the next starts. */
  setHome(id: Id, home: Id): void {
    this.#homes.set(id, home)
  }

  /** Deletes the directory of a node that does not run, and makes an empty one. By default its node gets a new id. */
  async replace(id: Id, keepsId = false): Promise<void> {
    const place = this.#place(id)
    assert.equal(place.server, null)
    await rm(this.directory(id), { recursive: true })
    place.nodes++
    if (!keepsId) place.node = `${id}${place.nodes}`
    await this.#makeDirectory(id, this.ids.find(other => other !== id) ?? id)
  }

  /** Runs a statement on the database. */
  async ask<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = await this.connect()
    try {
      return (await client.query<Row>(text, [...values])).rows
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
    for (const id of this.ids) {
      await this.kill(id)
      await this.link(id).close()
    }
    await this.postgres.stop()
  }

  /** Returns the node that keeps the cluster of a place, or the nodes and copies. A node that retires is none of them. */
  #keepersOf(id: Id) {
    const home = this.#homes.get(id) ?? id
    if (this.copies === 1) return { node: this.nameOf(home) }
    const others = this.ids.filter(other => other !== home && this.#homes.get(other) === other)
    return { nodes: [home, ...others].map(other => this.nameOf(other)), copies: this.copies }
  }

  #place(id: Id): Place {
    const place = this.#places.get(id)
    assert.ok(place)
    return place
  }

  /** All nodes need the same key: each decrypts secrets that another has encrypted in the database. */
  async #makeDirectory(id: Id, other: Id): Promise<void> {
    await mkdir(this.directory(id), { mode: 0o700 })
    await copyFile(join(this.directory(other), 'data.key'), join(this.directory(id), 'data.key'))
  }
}

function clusterOf(id: Id): string {
  return `of-${id}`
}
