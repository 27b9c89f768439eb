import type { Holds } from '../../ledger/holds.ts'
import type { RootTable } from '../../ledger/root-table.ts'
import type { Database, Statement } from '../../storage/database.ts'
import { own } from '../rules/driver.ts'
import { ANY_WAITING, type FetchParts, fetchFor, GET, insertFetch, type WantedFetch } from '../rules/fetch-rows.ts'
import type { StatusRules } from '../rules/status-rules.ts'
import type { SqliteDriver, SqliteStatements } from './sqlite-driver.ts'

export class FetchTable {
  readonly parts: FetchParts
  readonly #statements: SqliteStatements
  readonly #roots: RootTable
  readonly #after: Statement<[number, number], { id: number }>

  constructor(
    db: Database,
    driver: SqliteDriver,
    statements: SqliteStatements,
    { roots, holds, status }: { roots: RootTable; holds: Holds; status: StatusRules },
  ) {
    this.#statements = statements
    this.#roots = roots
    this.#after = db.prepare('SELECT id FROM fetches WHERE id > ? ORDER BY id LIMIT ?')
    this.parts = {
      driver,
      node: '',
      backend: backendId => backendId,
      status,
      hold: (fetchId, rootId) => own(() => holds.place(fetchHold(fetchId), rootId, null)),
      release: holdId => own(() => void holds.release(holdId)),
      dropReleased: async () => undefined,
      notify: () => own(() => undefined),
    }
  }

  *begin(wanted: WantedFetch) {
    const rootId = yield* own(() => this.#roots.stage(wanted.backendId, wanted.now))
    // SQLite has one writer, so no other transaction can have inserted the fetch.
    return (yield* insertFetch(this.parts, wanted, { rootId, holdId: null })) ?? 0
  }

  /** Returns the id of the fetch of a DAG. Inserts a missing fetch. Makes the fetch due unless it is running. */
  fetchFor(wanted: WantedFetch): number {
    return this.#statements.carryOut(fetchFor(this.parts, wanted, () => this.begin(wanted))).id
  }

  /** Inserts the fetch of a staged root. Returns null if the DAG already has a fetch. */
  insert(wanted: WantedFetch, rootId: number): number | null {
    return this.#statements.carryOut(insertFetch(this.parts, wanted, { rootId, holdId: null }))
  }

  has(fetchId: number): boolean {
    return this.#statements.first(GET, { fetchId }) !== null
  }

  isWanted(fetchId: number): boolean {
    return this.#statements.first(ANY_WAITING, { fetchId }) !== null
  }

  after(id: number, limit: number): number[] {
    return this.#after.all(id, limit).map(row => row.id)
  }
}

export function fetchHold(fetchId: number): string {
  return `fetch ${fetchId}`
}
