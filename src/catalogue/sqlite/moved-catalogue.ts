import type { Database, SqlValue } from '../../storage/database.ts'
import type { CatalogueToMove, MovedRow } from '../moving.ts'
import { type CatalogueTable, type CopiedTable, movedColumns, movedTables } from '../tables.ts'

/** Number of rows that one statement reads or one transaction removes. */
const STEP = 500

export class SqliteMovedCatalogue implements CatalogueToMove {
  readonly #db: Database
  readonly tables: readonly CopiedTable[]

  constructor(db: Database, tables: readonly CatalogueTable[]) {
    this.#db = db
    this.tables = movedTables(tables)
  }

  count({ name, where = '1' }: CopiedTable): number {
    return (
      this.#db.prepare<[], { count: number }>(`SELECT COUNT(*) AS count FROM ${name} WHERE ${where}`).get()?.count ?? 0
    )
  }

  *batches(table: CopiedTable): Iterable<MovedRow[]> {
    const { name: from, where = '1', key = ['rowid'] } = table
    const columns = movedColumns(table).map(({ name, expression }) => `${expression} AS ${name}`)
    const places = key.map((column, i) => `${column} AS place${i}`)
    const select = `SELECT ${[...columns, ...places].join(', ')} FROM ${from} WHERE ${where}`
    const order = `ORDER BY ${key.join(', ')} LIMIT ${STEP}`
    const marks = key.map(() => '?').join(', ')
    const first = this.#db.prepare<[], Record<string, SqlValue>>(`${select} ${order}`)
    const next = this.#db.prepare<SqlValue[], Record<string, SqlValue>>(
      `${select} AND (${key.join(', ')}) > (${marks}) ${order}`,
    )
    for (let rows = first.all(); rows.length > 0; ) {
      yield rows
      const last = rows.at(-1) ?? {}
      rows = rows.length < STEP ? [] : next.all(...key.map((_, i) => last[`place${i}`] ?? null))
    }
  }

  left(): number {
    return this.#removed().reduce((sum, table) => sum + this.count(table), 0)
  }

  /** Removes some of the moved rows. Runs within the caller's transaction. */
  removeSome(): number {
    for (const { name, key = [] } of this.#removed()) {
      // Few rows have a key of several columns, and such a table may have no rowid.
      const some = key.length > 1 ? '' : `WHERE rowid IN (SELECT rowid FROM ${name} LIMIT ${STEP})`
      const { changes } = this.#db.prepare<[]>(`DELETE FROM ${name} ${some}`).run()
      if (changes > 0) return changes
    }
    this.#db.prepare("INSERT INTO record_search (record_search) VALUES ('delete-all')").run()
    for (const table of ['search_pending', 'search_lists', 'search_runs'])
      this.#db.prepare(`DELETE FROM ${table}`).run()
    return 0
  }

  /** Features come first, so that the removal of records gives them no work. Accounts come last. */
  #removed(): CopiedTable[] {
    return this.tables.filter(({ stays }) => stays !== true).toReversed()
  }
}
