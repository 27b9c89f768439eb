import type { CatalogueHealth } from '../../src/catalogue/shared-catalogue.ts'
import { type Clock, systemClock } from '../../src/domain/clock.ts'

/** Largest accepted difference between the clocks of a node and of the database, in milliseconds. */
const MOST_SKEW_MS = 2_000
/** Time without a successful check after which the database counts as unreachable, in milliseconds. */
const SILENT_MS = 5_000

/** Answer of the database to a check. */
interface Answer {
  /** Milliseconds since the epoch, by the database's clock. */
  now: number
  isReadOnly: boolean
}

interface Connection {
  query<Row extends object>(text: string): Promise<{ rows: Row[] }>
}

const CHECK = `SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8 * 1000 AS now,
  current_setting('transaction_read_only') = 'on' AS "isReadOnly"`

/**
 * Health of the database by the last check: whether it accepts writes, and the skew of the clocks.
 */
export class DatabaseHealth implements CatalogueHealth {
  readonly #clock: Clock
  readonly #isCompared: boolean
  #seenAt: number | null = null
  #isReadOnly = false
  /** This node's clock minus the database's, and the largest error that the round trip adds to it; in milliseconds. */
  #skew: { ms: number; within: number } | null = null

  constructor(clock: Clock, isCompared = clock === systemClock) {
    this.#clock = clock
    this.#isCompared = isCompared
  }

  /** Runs one check. Rejects if the connection is lost. */
  async check(connection: Connection): Promise<void> {
    const begun = this.#clock.now()
    const { rows } = await connection.query<Answer>(CHECK)
    const ended = this.#clock.now()
    const [answer] = rows
    if (answer === undefined) return
    this.#seenAt = ended
    this.#isReadOnly = answer.isReadOnly
    if (!this.#isCompared) return
    // The database read its clock between `begun` and `ended`, so half the round trip is the largest error. Slow
    // answers raise no alarm.
    this.#skew = { ms: (begun + ended) / 2 - answer.now, within: Math.abs(ended - begun) / 2 }
  }

  /**
   * Milliseconds by which this node's clock is ahead of the database's. Null before the first check, and for a clock
   * supplied by the host program.
   */
  get skewMs(): number | null {
    return this.#skew === null ? null : Math.round(this.#skew.ms)
  }

  /** `no-catalogue` if the database accepts no writes now; `clock-skew` if the clocks are over two seconds apart. */
  get problem(): 'no-catalogue' | 'clock-skew' | null {
    const isSilent = this.#seenAt === null || Math.abs(this.#clock.now() - this.#seenAt) > SILENT_MS
    if (isSilent || this.#isReadOnly) return 'no-catalogue'
    return this.#skew !== null && Math.abs(this.#skew.ms) - this.#skew.within > MOST_SKEW_MS ? 'clock-skew' : null
  }
}
