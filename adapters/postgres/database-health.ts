import type { CatalogueHealth } from '../../src/catalogue/shared-catalogue.ts'
import { type Clock, systemClock } from '../../src/domain/clock.ts'

/** Maximum accepted difference between the clocks of a node and the database, in ms. */
const MOST_SKEW_MS = 2_000
/** Time in ms without a successful check after which the database counts as unreachable. */
const SILENT_MS = 5_000

/** The answer of the database to a check. */
interface Answer {
  /** The time of the database's clock, in ms since the epoch. */
  now: number
  isReadOnly: boolean
}

interface Connection {
  query<Row extends object>(text: string): Promise<{ rows: Row[] }>
}

const CHECK = `SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8 * 1000 AS now,
  current_setting('transaction_read_only') = 'on' AS "isReadOnly"`

/**
 * The health of the database at the last check: whether it accepts writes, and the difference between its clock and
 * this node's clock.
 */
export class DatabaseHealth implements CatalogueHealth {
  readonly #clock: Clock
  readonly #isCompared: boolean
  #seenAt: number | null = null
  #isReadOnly = false
  /**
   * The difference of the clocks, in ms: this node's time minus the database's time. The round trip adds an error of up
   * to `within`.
   */
  #skew: { ms: number; within: number } | null = null

  constructor(clock: Clock, isCompared = clock === systemClock) {
    this.#clock = clock
    this.#isCompared = isCompared
  }

  /** Runs one check and stores its result. Rejects if the connection is lost. */
  async check(connection: Connection): Promise<void> {
    const begun = this.#clock.now()
    const { rows } = await connection.query<Answer>(CHECK)
    const ended = this.#clock.now()
    const [answer] = rows
    if (answer === undefined) return
    this.#seenAt = ended
    this.#isReadOnly = answer.isReadOnly
    if (!this.#isCompared) return
    // The database read its clock between `begun` and `ended`, so half the round trip is the maximum error. The alarm
    // subtracts this error, so a slow answer causes no alarm.
    this.#skew = { ms: (begun + ended) / 2 - answer.now, within: Math.abs(ended - begun) / 2 }
  }

  /**
   * Time in ms by which this node's clock is ahead of the database's clock. Null before the first check, and if the
   * host program supplies the clock.
   */
  get skewMs(): number | null {
    return this.#skew === null ? null : Math.round(this.#skew.ms)
  }

  /**
   * `no-catalogue` if the database is unreachable or read-only. `clock-skew` if the clocks differ by more than two
   * seconds.
   */
  get problem(): 'no-catalogue' | 'clock-skew' | null {
    const isSilent = this.#seenAt === null || Math.abs(this.#clock.now() - this.#seenAt) > SILENT_MS
    if (isSilent || this.#isReadOnly) return 'no-catalogue'
    return this.#skew !== null && Math.abs(this.#skew.ms) - this.#skew.within > MOST_SKEW_MS ? 'clock-skew' : null
  }
}
