import type { CatalogueHealth } from '../../../src/catalogue/shared-catalogue.ts'
import { type Clock, systemClock } from '../../../src/domain/clock.ts'
import { NEWEST_REVISION } from '../schema/schema-revisions.ts'

const MOST_SKEW_MS = 2_000
const SILENT_MS = 5_000

interface Answer {
  /** Time in ms since the epoch, by the database's clock. */
  now: number
  isReadOnly: boolean
  newest: number
}

interface Connection {
  query<Row extends object>(text: string): Promise<{ rows: Row[] }>
}

const CHECK = `SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8 * 1000 AS now,
  current_setting('transaction_read_only') = 'on' AS "isReadOnly", ${NEWEST_REVISION} AS newest`

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

  /** Returns the number of the newest change that all nodes must confirm. Rejects if the connection is lost. */
  async check(connection: Connection): Promise<number> {
    const begun = this.#clock.now()
    const { rows } = await connection.query<Answer>(CHECK)
    const ended = this.#clock.now()
    const [answer] = rows
    if (answer === undefined) return 0
    this.#seenAt = ended
    this.#isReadOnly = answer.isReadOnly
    // Half the round trip is the maximum error: the database read its clock between `begun` and `ended`.
    const skew = { ms: (begun + ended) / 2 - answer.now, within: Math.abs(ended - begun) / 2 }
    if (this.#isCompared) this.#skew = skew
    return answer.newest
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
