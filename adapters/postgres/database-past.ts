import type { CataloguePast, KeptPast, Past } from '../../src/catalogue/shared-catalogue.ts'

/** What one connection is asked with. */
interface Connection {
  query<Row extends object>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>
}

const PAST = `SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system,
  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline,
  (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS database`
const UNKNOWN = `SELECT number::float8 AS number FROM unnest($1::bigint[]) AS number
  WHERE NOT EXISTS (SELECT 1 FROM holds WHERE id = 'hold ' || number)`
/** How far numbers go on past those that this node knows to have been given: others may have got some as well. */
const GAP = 1_000

/**
 * Notices at each connection whether the database is still the one that this node has committed to: one that was set
 * back, or replaced by a standby that was behind, knows nothing of commits that were acknowledged. What the ledger
 * holds for them must not be let go of before somebody has looked.
 */
export class DatabasePast implements CataloguePast {
  readonly #kept: KeptPast
  readonly #onProblem: (problem: string) => void
  #current: Past | null = null
  #problem: string | null = null

  constructor(kept: KeptPast, onProblem: (problem: string) => void) {
    this.#kept = kept
    this.#onProblem = onProblem
  }

  /** What is other than it was, in words; null if nothing is. */
  get problem(): string | null {
    return this.#problem
  }

  /** Rejects where it cannot be told. */
  async check(connection: Connection): Promise<void> {
    const {
      rows: [past],
    } = await connection.query<Past>(PAST)
    if (past === undefined) return
    const kept = this.#kept.get()
    const found = await this.#found(connection, past, kept?.past ?? past)
    const problem = kept?.problem ?? found
    this.#current = past
    if (problem !== null && problem !== this.#problem) this.#onProblem(problem)
    this.#problem = problem
    if (kept === null || kept.problem !== problem) this.#kept.put(kept?.past ?? past, problem)
  }

  /** Somebody has looked at this problem: from now on this past is the right one. */
  accept(problem: string): void {
    if (problem !== this.#problem) return
    if (this.#current !== null) this.#kept.put(this.#current, null)
    this.#problem = null
  }

  async #found(connection: Connection, past: Past, known: Past): Promise<string | null> {
    if (past.system !== known.system) return 'the database is another server’s than before'
    if (past.database !== known.database) return 'the database was made anew'
    const holds = this.#kept.newestHolds()
    const { rows } = await connection.query<{ number: number }>(UNKNOWN, [holds])
    // What was let go of meanwhile was so here before it was forgotten there.
    const isBehind = rows.some(({ number }) => this.#kept.isHeld(number))
    if (isBehind) {
      // No number is given twice, or a hold of the lost past would be taken for one of this.
      const next = Math.max(...holds) + GAP
      await connection.query(
        "SELECT setval('hold_numbers', $1::bigint) FROM hold_numbers WHERE last_value < $1::bigint",
        [next],
      )
    }
    if (isBehind) return 'the database knows nothing of what was committed last: it was set back'
    if (past.timeline === known.timeline) return null
    return `the database has gone from timeline ${known.timeline} to ${past.timeline}: it was recovered to a point, or a standby has taken over`
  }
}
