import type { Database, Statement } from '../storage/database.ts'

/** Number of newest holds that the node checks in the catalogue when it connects. */
const NEWEST = 32

interface Row {
  system: string
  timeline: string
  database: string
  problem: string | null
}

/** The history of the external catalogue when this node last used it, and the newest holds of this node. */
export class CataloguePastTable {
  readonly #get: Statement<[], Row>
  readonly #delete: Statement<[], unknown>
  readonly #insert: Statement<[string, string, string, string | null], unknown>
  readonly #newest: Statement<[number], { id: string }>
  readonly #find: Statement<[string], unknown>
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
    this.#get = db.prepare('SELECT system, timeline, "database", problem FROM catalogue_past')
    this.#delete = db.prepare('DELETE FROM catalogue_past')
    this.#insert = db.prepare('INSERT INTO catalogue_past (system, timeline, "database", problem) VALUES (?, ?, ?, ?)')
    this.#newest = db.prepare(
      'SELECT holds.id FROM roots CROSS JOIN holds ON root_id = roots.id ORDER BY roots.id DESC LIMIT ?',
    )
    this.#find = db.prepare('SELECT 1 FROM holds WHERE id = ?')
  }

  get(): { past: Omit<Row, 'problem'>; problem: string | null } | null {
    const row = this.#get.get()
    if (row === undefined) return null
    const { problem, ...past } = row
    return { past, problem }
  }

  put({ system, timeline, database }: Omit<Row, 'problem'>, problem: string | null): void {
    this.#db.transaction(() => {
      this.#delete.run()
      this.#insert.run(system, timeline, database, problem)
    })
  }

  /** Leaves out holds without a number. */
  newestHolds(): number[] {
    return this.#newest.all(NEWEST).flatMap(({ id }) => (/^hold \d+$/.test(id) ? Number(id.slice('hold '.length)) : []))
  }

  isHeld(hold: number): boolean {
    return this.#find.get(`hold ${hold}`) !== undefined
  }
}
