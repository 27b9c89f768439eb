import { randomUUID } from 'node:crypto'
import type { SetBack } from '../../../src/catalogue/offers.ts'
import type { CataloguePast, KeptPast, KnownPast, Past } from '../../../src/catalogue/shared-catalogue.ts'
import { NEWEST_REVISION } from '../schema/schema-revisions.ts'
import { NEWEST_SET_BACK } from '../schema/schema-set-backs.ts'

interface Connection {
  query<Row extends object>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>
}

const PAST = `SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system,
  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline,
  (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS database`
const UNKNOWN = `SELECT number::float8 AS number FROM unnest($1::bigint[]) AS number
  WHERE NOT EXISTS (SELECT 1 FROM holds WHERE id = 'hold ' || number)`
/** Hold numbers to skip after a set-back: far more than the lost commits of all nodes can have used. */
const GAP = 1_000_000_000

const STATE = `SELECT (${NEWEST_SET_BACK}) AS newest, ${NEWEST_REVISION}::float8 AS revision, (SELECT offered FROM nodes WHERE name = $1) AS offered,
  EXISTS (SELECT 1 FROM set_backs WHERE id = $2) AS "isKnown"`
/** Every node offers again from the start. */
const NOTE = `WITH noted AS (INSERT INTO set_backs (id, problem, noticed_by) VALUES ($1, $2, $3))
  UPDATE nodes SET offer_place = NULL`

/**
 * Checks at each connection that the database still has what this node has committed.
 *
 * A database restored to an earlier point lacks acknowledged commits. So does a standby promoted while it lagged
 * behind. The node notes this set-back in the database, so that every node offers its content before any node releases
 * something. The ledger keeps the holds of lost commits until the operator accepts the problem.
 */
export class DatabasePast implements CataloguePast {
  readonly #kept: KeptPast
  readonly #node: string
  readonly #onProblem: (problem: string) => void
  #current: Past | null = null
  #problem: string | null = null
  #lacksStart: boolean

  /** @param lacksStart true if the database lacks starts of this node */
  constructor(kept: KeptPast, node: string, onProblem: (problem: string) => void, lacksStart = false) {
    this.#kept = kept
    this.#node = node
    this.#onProblem = onProblem
    this.#lacksStart = lacksStart
  }

  get problem(): string | null {
    return this.#problem
  }

  async check(connection: Connection): Promise<void> {
    const {
      rows: [past],
    } = await connection.query<Past>(PAST)
    if (past === undefined) return
    const kept = this.#kept.get() ?? { past, problem: null, setBack: null }
    const found = await this.#found(connection, past, kept)
    const setBack = found === null ? kept.setBack : await this.#note(connection, found.problem, kept)
    this.#current = past
    this.#show(found?.problem ?? kept.problem)
    const known = { past, problem: this.#problem, setBack }
    if (found !== null || kept.setBack !== setBack || this.#kept.get() === null) {
      this.#kept.put(known, found?.lacksNothing === true)
    }
    if (found === null) return
    this.#lacksStart = false
    // The database gives later numbers to other changes again.
    const {
      rows: [newest],
    } = await connection.query<{ revision: number }>(`SELECT ${NEWEST_REVISION}::float8 AS revision`)
    this.#kept.confirm(newest?.revision ?? 0)
  }

  /** Accepts the present state of the database, unless another problem has replaced the given one. */
  accept(problem: string): void {
    if (problem !== this.#problem) return
    if (this.#current !== null) {
      this.#kept.put({ past: this.#current, problem: null, setBack: this.#kept.get()?.setBack ?? null })
    }
    this.#problem = null
  }

  learn({ id, problem }: SetBack): void {
    const kept = this.#kept.get()
    if (kept === null || kept.setBack === id) return
    this.#show(kept.problem ?? problem)
    this.#kept.put({ ...kept, problem: this.#problem, setBack: id })
  }

  confirm(revision: number): void {
    this.#kept.confirm(revision)
  }

  follow(): void {
    this.#kept.follow(true)
  }

  /**
   * Forgets the former history of a data directory that has joined as a new node, or was restored, and stores why it must
   * offer.
   */
  async returned(connection: Connection, { id, problem }: SetBack): Promise<void> {
    await this.#skipKnownHolds(connection)
    const {
      rows: [past],
    } = await connection.query<Past>(PAST)
    if (past !== undefined) this.#kept.put({ past, problem, setBack: id })
  }

  #show(problem: string | null): void {
    if (problem !== null && problem !== this.#problem) this.#onProblem(problem)
    this.#problem = problem
  }

  /** Returns how the database differs from the known one; null if it does not, or if this difference is known. */
  async #found(
    connection: Connection,
    past: Past,
    { past: known, problem, setBack }: KnownPast,
  ): Promise<{ problem: string; lacksNothing?: boolean } | null> {
    if (past.system !== known.system) return { problem: 'the database is on another server than before' }
    if (past.database !== known.database) return { problem: 'the database was dropped and created again' }
    const {
      rows: [state],
    } = await connection.query<{ isKnown: boolean; revision: number }>(STATE, [this.#node, setBack])
    if (setBack !== null && state?.isKnown === false) {
      return { problem: 'the database was restored to an earlier point again' }
    }
    const lacksChanges = this.#lacksStart || (state?.revision ?? 0) < this.#kept.revision()
    const isBehind = lacksChanges || (problem === null && (await this.#lacksHolds(connection)))
    if (isBehind) return { problem: 'the database lacks the latest commits: it was restored to an earlier point' }
    if (past.timeline === known.timeline) return null
    const change = `from timeline ${known.timeline} to ${past.timeline}`
    return {
      problem: `the database changed ${change}: it was restored, or a standby took over`,
      // A standby that has every change of the visibility leaves no doubt about the owners of roots.
      lacksNothing: problem === null,
    }
  }

  async #lacksHolds(connection: Connection): Promise<boolean> {
    const { rows } = await connection.query<{ number: number }>(UNKNOWN, [this.#kept.newestHolds()])
    // The ledger may have released a hold since the first read. Such a hold is not lost, so check the ledger again.
    return rows.some(({ number }) => this.#kept.isHeld(number))
  }

  /** Notes a set-back, unless another node has noted it. Returns its id. */
  async #note(connection: Connection, problem: string, known: KnownPast): Promise<string> {
    await this.#skipKnownHolds(connection)
    const {
      rows: [state],
    } = await connection.query<{ newest: string | null; offered: string | null }>(STATE, [this.#node, known.setBack])
    const newest = state?.newest ?? null
    // Nodes have handled a set-back of the restored state before. Another node has noted any other.
    if (newest !== null && newest !== known.setBack && newest !== state?.offered) {
      await connection.query('UPDATE nodes SET offer_place = NULL WHERE name = $1', [this.#node])
      return newest
    }
    const id = randomUUID()
    await connection.query(NOTE, [id, problem, this.#node])
    return id
  }

  /** Skips the numbers in use: a new hold with one of them would move the known hold to other content. */
  async #skipKnownHolds(connection: Connection): Promise<void> {
    const text = "SELECT setval('hold_numbers', $1::bigint) FROM hold_numbers WHERE last_value < $1::bigint"
    await connection.query(text, [Math.max(0, ...this.#kept.newestHolds()) + GAP])
  }
}
