import type { CatalogueHealth } from '../../src/catalogue/shared-catalogue.ts'
import { type Clock, systemClock } from '../../src/domain/clock.ts'

const MOST_SKEW_MS = 2_000
const SILENT_MS = 5_000

interface Answer {
  /** Time in ms since the epoch, by the database's clock. */
  now: number
  isReadOnly: boolean
}

interface Connection {
  query<Row extends object>(text: string): Promise<{ rows: Row[] }>
}

const CHECK = `SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8 * 1000 AS now,
  current_setting('transaction_read_only') = 'on' AS "isReadOnly"`

export class DatabaseHealth implements CatalogueHealth {
  readonly #clock: Clock
  readonly #isCompared: boolean
  /** True if this process may not run as its node. */
  isRefused = false
  #seenAt: number | null = null
  #isReadOnly = false
  /** This node's time minus the database's time, in ms. The round trip adds an error of up to `within`. */
  #skew: { ms: number; within: number } | null = null

  constructor(clock: Clock, isCompared = clock === systemClock) {
    this.#clock = clock
    this.#isCompared = isCompared
  }

  /** Rejects if the connection is lost. */
  async check(connection: Connection): Promise<void> {
    const begun = this.#clock.now()
    const { rows } = await connection.query<Answer>(CHECK)
    const ended = this.#clock.now()
    const [answer] = rows
    if (answer === undefined) return
    this.#seenAt = ended
    this.#isReadOnly = answer.isReadOnly
    if (!this.#isCompared) return
    // Half the round trip is the maximum error: the database read its clock between `begun` and `ended`.
    this.#skew = { ms: (begun + ended) / 2 - answer.now, within: Math.abs(ended - begun) / 2 }
  }

  /**
   * Time in ms by which this node's clock is ahead of the database's. Null before the first check, and with the host
   * program's clock.
   */
  get skewMs(): number | null {
    return this.#skew === null ? null : Math.round(this.#skew.ms)
  }

  get problem(): 'no-claim' | 'no-catalogue' | 'clock-skew' | null {
    if (this.isRefused) return 'no-claim'
    const isSilent = this.#seenAt === null || Math.abs(this.#clock.now() - this.#seenAt) > SILENT_MS
    if (isSilent || this.#isReadOnly) return 'no-catalogue'
    return this.#skew !== null && Math.abs(this.#skew.ms) - this.#skew.within > MOST_SKEW_MS ? 'clock-skew' : null
  }
}
