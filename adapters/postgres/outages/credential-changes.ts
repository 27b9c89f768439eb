import type { PoolClient } from 'pg'
import type { CatalogueChanges } from '../../../src/catalogue/shared-catalogue.ts'
import type { Clock } from '../../../src/domain/clock.ts'
import type { Postgres } from '../database/postgres.ts'
import type { NodeClaim } from '../nodes/node-claim.ts'
import { DatabaseHealth } from './database-health.ts'
import type { DatabaseOutage } from './database-outage.ts'
import type { DatabasePast } from './database-past.ts'

const CHECK_MS = 400
const TRUSTED_MS = 1_000

export const NODES_CHANNEL = 'holdfast_nodes'
/** The channel of all revisions. */
const REVISIONS_CHANNEL = 'holdfast_takedowns'

/**
 * Listens for changes by other nodes. While the connection is down, reports every second that credentials may have
 * changed.
 */
export class CredentialChanges implements CatalogueChanges {
  readonly #database: Postgres
  readonly #clock: Clock
  readonly health: DatabaseHealth
  readonly #past: Pick<DatabasePast, 'check'> | null
  readonly #claim: Pick<NodeClaim, 'lost' | 'takeAgain' | 'refusal'> | null
  readonly #outage: Pick<DatabaseOutage, 'failures' | 'passed'> | null
  #given: PoolClient | null = null
  #client: PoolClient | null = null
  #cancel: () => void = () => undefined
  #ended = false
  #isProbing = false
  #changes = 0
  #onNotice: (node: string | null) => void = () => undefined
  #onRevision: (newest: number | null) => void = () => undefined
  /** Start of the last successful check, in ms since the epoch. Null while the connection is down. */
  #seenAt: number | null = null

  constructor(
    database: Postgres,
    clock: Clock,
    past: Pick<DatabasePast, 'check'> | null = null,
    claim: Pick<NodeClaim, 'lost' | 'takeAgain' | 'refusal'> | null = null,
    outage: Pick<DatabaseOutage, 'failures' | 'passed'> | null = null,
  ) {
    this.#database = database
    this.#clock = clock
    this.health = new DatabaseHealth(clock)
    this.#past = past
    this.#claim = claim
    this.#outage = outage
  }

  version(): number {
    const now = this.#clock.now()
    const isTrusted = this.#seenAt !== null && now - this.#seenAt < TRUSTED_MS
    return isTrusted ? this.#changes : -1 - Math.floor(now / TRUSTED_MS)
  }

  /** Sets the listener for new work of a node. Its argument is null if a notice may have been lost. */
  notices(listener: (node: string | null) => void): void {
    this.#onNotice = listener
  }

  /** Sets the listener for the number of the newest revision. Its argument is null after a new connection. */
  revisions(listener: (newest: number | null) => void): void {
    this.#onRevision = listener
  }

  /**
   * Resolves after the first attempt to listen. Further attempts follow in the background.
   *
   * @param connection used for the first attempt, and owned by this object from then on
   */
  async start(connection: PoolClient | null = null): Promise<void> {
    this.#given = connection
    await this.#check()
  }

  /**
   * Waits for the notices that were sent before the call, because an answer on the listening connection follows them.
   * Returns `notices` if the connection fails.
   */
  async unsettled(): Promise<string[]> {
    if (this.#ended) return []
    return (
      this.#client?.query('SELECT 1').then(
        () => [],
        () => ['notices'],
      ) ?? ['notices']
    )
  }

  async stop(): Promise<void> {
    this.#ended = true
    this.#cancel()
    this.#lost()
  }

  async #check(): Promise<void> {
    const begun = this.#clock.now()
    const failures = this.#outage?.failures ?? 0
    try {
      if (this.#client === null) await this.#listen()
      if (this.#client !== null) await this.#claim?.takeAgain(this.#client)
      if (this.#client !== null) await this.#checkHealth(this.#client)
      if (this.#client !== null) this.#passed(begun, failures)
    } catch {
      this.#lost()
    }
    this.#database.refusal = this.#claim?.refusal ?? null
    this.health.isRefused = this.#database.refusal !== null
    if (this.#ended) this.#lost()
    else this.#cancel = this.#clock.after(CHECK_MS, () => void this.#check())
  }

  #passed(begun: number, failures: number): void {
    this.#seenAt = begun
    if (!this.#database.isRefused && this.health.problem !== 'no-catalogue') this.#outage?.passed({ failures })
  }

  /** Tries a new connection if the pool could not connect: the listening connection may work while new ones fail. */
  async #checkHealth(client: PoolClient): Promise<void> {
    if (!this.#database.isRefused) return this.#onRevision(await this.health.check(client))
    if (this.#isProbing) return
    this.#isProbing = true
    this.#database
      .connection()
      .then(other => other.release())
      .catch(() => undefined)
      .finally(() => {
        this.#isProbing = false
      })
  }

  async #listen(): Promise<void> {
    const client = this.#given ?? (await this.#database.connection())
    this.#given = null
    client.on('error', () => this.#lost())
    client.on('notification', ({ channel, payload }) => {
      if (channel === NODES_CHANNEL) this.#onNotice(payload ?? null)
      else if (channel === REVISIONS_CHANNEL) this.#onRevision(Number(payload))
      else this.#changes++
    })
    this.#client = client
    await this.#claim?.takeAgain(client)
    await client.query(`LISTEN holdfast_credentials; LISTEN ${NODES_CHANNEL}; LISTEN ${REVISIONS_CHANNEL}`)
    await this.#past?.check(client)
    // Notices sent before this connection listened are lost. No version was trusted meanwhile.
    this.#onNotice(null)
    this.#onRevision(null)
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
