import type { CataloguePast, KeptPast, Past } from '../../src/catalogue/shared-catalogue.ts'

interface Connection {
  query<Row extends object>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>
}

const PAST = `SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system,
  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline,
  (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS database`
const UNKNOWN = `SELECT number::float8 AS number FROM unnest($1::bigint[]) AS number
  WHERE NOT EXISTS (SELECT 1 FROM holds WHERE id = 'hold ' || number)`
/** After a restore of the database, skips this many hold numbers, which the lost commits may have used. */
const GAP = 1_000

/**
 * Checks at each connection that the database still has what this node has committed.
 *
 * A database restored to an earlier point lacks acknowledged commits. So does a standby promoted while it lagged
 * behind. The ledger keeps the holds of those commits until the operator accepts the problem.
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

  get problem(): string | null {
    return this.#problem
  }

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

  /** Accepts the present state of the database, unless another problem has replaced the given one. */
  accept(problem: string): void {
    if (problem !== this.#problem) return
    if (this.#current !== null) this.#kept.put(this.#current, null)
    this.#problem = null
  }

  async #found(connection: Connection, past: Past, known: Past): Promise<string | null> {
    if (past.system !== known.system) return 'the database is on another server than before'
    if (past.database !== known.database) return 'the database was dropped and created again'
    const holds = this.#kept.newestHolds()
    const { rows } = await connection.query<{ number: number }>(UNKNOWN, [holds])
    // The ledger may have released a hold since the first read. Such a hold is not lost, so check the ledger again.
    const isBehind = rows.some(({ number }) => this.#kept.isHeld(number))
    if (isBehind) {
      // If a new hold reused a number, it could be mistaken for a hold that the database has lost.
      const next = Math.max(...holds) + GAP
      await connection.query(
        "SELECT setval('hold_numbers', $1::bigint) FROM hold_numbers WHERE last_value < $1::bigint",
        [next],
      )
    }
    if (isBehind) return 'the database lacks the latest commits: it was restored to an earlier point'
    if (past.timeline === known.timeline) return null
    return `the database changed from timeline ${known.timeline} to ${past.timeline}: it was restored, or a standby took over`
  }
}
