import type { CatalogueHealth } from '../../src/catalogue/shared-catalogue.ts'
import { type Clock, systemClock } from '../../src/domain/clock.ts'

/** How far apart the clocks of a node and of the database may be, in milliseconds. */
const MOST_SKEW_MS = 2_000
/** Without a look for so long, in milliseconds, the database counts as out of reach. */
const SILENT_MS = 5_000

/** What a look at the database finds. */
interface Looked {
  /** Milliseconds since the epoch, by its clock. */
  now: number
  isReadOnly: boolean
}

/** What one connection is asked with. */
interface Connection {
  query<Row extends object>(text: string): Promise<{ rows: Row[] }>
}

const LOOK = `SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8 * 1000 AS now,
  current_setting('transaction_read_only') = 'on' AS "isReadOnly"`

/** Whether the database can be written to, and whether it tells the time that this node does: by the last look at it. */
export class DatabaseHealth implements CatalogueHealth {
  readonly #clock: Clock
  readonly #isCompared: boolean
  #seenAt: number | null = null
  #isReadOnly = false
  /** This node's clock less the database's, and how much of that the way to it and back may be. */
  #skew: { ms: number; within: number } | null = null

  constructor(clock: Clock, isCompared = clock === systemClock) {
    this.#clock = clock
    this.#isCompared = isCompared
  }

  /** Looks by a connection. Rejects where that is lost. */
  async look(connection: Connection): Promise<void> {
    const begun = this.#clock.now()
    const { rows } = await connection.query<Looked>(LOOK)
    const ended = this.#clock.now()
    const [looked] = rows
    if (looked === undefined) return
    this.#seenAt = ended
    this.#isReadOnly = looked.isReadOnly
    if (!this.#isCompared) return
    // It has told the time somewhere between the two: by no slowness do clocks that are right look wrong.
    this.#skew = { ms: (begun + ended) / 2 - looked.now, within: Math.abs(ended - begun) / 2 }
  }

  /**
   * Milliseconds by which this node's clock is ahead of the database's; null before the first look, and for a clock that
   * the host program has brought, which goes as that likes.
   */
  get skewMs(): number | null {
    return this.#skew === null ? null : Math.round(this.#skew.ms)
  }

  /** `no-catalogue` where nothing can be written there now, `clock-skew` where the clocks are over two seconds apart. */
  get problem(): 'no-catalogue' | 'clock-skew' | null {
    const isSilent = this.#seenAt === null || Math.abs(this.#clock.now() - this.#seenAt) > SILENT_MS
    if (isSilent || this.#isReadOnly) return 'no-catalogue'
    return this.#skew !== null && Math.abs(this.#skew.ms) - this.#skew.within > MOST_SKEW_MS ? 'clock-skew' : null
  }
}
