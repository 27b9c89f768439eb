import type { PoolClient } from 'pg'
import type { CatalogueChanges } from '../../src/catalogue/shared-catalogue.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { DatabaseHealth } from './database-health.ts'
import type { DatabasePast } from './database-past.ts'
import type { NodeClaim } from './node-claim.ts'
import type { Postgres } from './postgres.ts'

/** How often the connection is looked at, and how long it is trusted since; in milliseconds. */
const LOOK_MS = 400
const TRUSTED_MS = 1_000

/** By which nodes tell each other, each by its name, that there is something to do. */
export const NODES_CHANNEL = 'holdfast_nodes'
/** By which the database tells of what is taken down. */
const TAKEDOWNS_CHANNEL = 'holdfast_takedowns'

/**
 * Tells whether credentials may have changed, on any node: the database tells each node of each change (`LISTEN`). While
 * nobody can say, they may have each second.
 */
export class CredentialChanges implements CatalogueChanges {
  readonly #database: Postgres
  readonly #clock: Clock
  /** By the same looks. */
  readonly health: DatabaseHealth
  readonly #past: Pick<DatabasePast, 'check'> | null
  readonly #claim: Pick<NodeClaim, 'lost' | 'takeAgain'> | null
  #given: PoolClient | null = null
  #client: PoolClient | null = null
  #cancel: () => void = () => undefined
  #ended = false
  #isAsking = false
  #changes = 0
  #onNotice: (node: string | null) => void = () => undefined
  #onTakedowns: () => void = () => undefined
  /** When the connection was last known to be there; null while there is none. */
  #seenAt: number | null = null

  /** @param past checked with each connection; @param claim kept by it */
  constructor(
    database: Postgres,
    clock: Clock,
    past: Pick<DatabasePast, 'check'> | null = null,
    claim: Pick<NodeClaim, 'lost' | 'takeAgain'> | null = null,
  ) {
    this.#database = database
    this.#clock = clock
    this.health = new DatabaseHealth(clock)
    this.#past = past
    this.#claim = claim
  }

  /** Another number than before once something may have changed. */
  version(): number {
    const now = this.#clock.now()
    const isTrusted = this.#seenAt !== null && now - this.#seenAt < TRUSTED_MS
    return isTrusted ? this.#changes : -1 - Math.floor(now / TRUSTED_MS)
  }

  /**
   * Calls `told` with the name of a node that has something to do, by what another node did; with null when that may
   * have been missed.
   */
  notices(told: (node: string | null) => void): void {
    this.#onNotice = told
  }

  /** Calls `told` when something was taken down or lifted, on whichever node, or may have been. */
  takedowns(told: () => void): void {
    this.#onTakedowns = told
  }

  /**
   * Resolves once it listens, or could not for now: then it goes on trying.
   *
   * @param connection the first to listen by, which is its own then
   */
  async start(connection: PoolClient | null = null): Promise<void> {
    this.#given = connection
    await this.#look()
  }

  async stop(): Promise<void> {
    this.#ended = true
    this.#cancel()
    this.#lost()
  }

  /** Looks whether the connection is there, has another one otherwise, and does so again soon. */
  async #look(): Promise<void> {
    const begun = this.#clock.now()
    try {
      if (this.#client === null) await this.#listen()
      if (this.#client !== null) await this.#claim?.takeAgain(this.#client)
      if (this.#client !== null) await this.#lookBy(this.#client)
      if (this.#client !== null) this.#seenAt = begun
    } catch {
      this.#lost()
    }
    if (this.#ended) this.#lost()
    else this.#cancel = this.#clock.after(LOOK_MS, () => void this.#look())
  }

  /** One that listens is of no use for anything else: where no other is to be had, the database is out of reach. */
  async #lookBy(client: PoolClient): Promise<void> {
    if (!this.#database.isRefused) return this.health.look(client)
    if (this.#isAsking) return
    this.#isAsking = true
    this.#database
      .connection()
      .then(other => other.release())
      .catch(() => undefined)
      .finally(() => {
        this.#isAsking = false
      })
  }

  async #listen(): Promise<void> {
    const client = this.#given ?? (await this.#database.connection())
    this.#given = null
    client.on('error', () => this.#lost())
    client.on('notification', ({ channel, payload }) => {
      if (channel === NODES_CHANNEL) this.#onNotice(payload ?? null)
      else if (channel === TAKEDOWNS_CHANNEL) this.#onTakedowns()
      else this.#changes++
    })
    this.#client = client
    await client.query(`LISTEN holdfast_credentials; LISTEN ${NODES_CHANNEL}; LISTEN ${TAKEDOWNS_CHANNEL}`)
    await this.#past?.check(client)
    // Of what has changed before, nobody has told.
    this.#changes++
    this.#onNotice(null)
    this.#onTakedowns()
  }

  #lost(): void {
    const client = this.#client
    this.#client = null
    this.#seenAt = null
    this.#changes++
    this.#claim?.lost()
    client?.release(true)
  }
}
