import { WithStatements } from '../storage/with-statements.ts'

/** Number of newest holds that the node checks in the catalogue when it connects. */
const NEWEST = 32

interface Row {
  system: string
  timeline: string
  database: string
  problem: string | null
  setBack: string | null
}

type Marks = Pick<Row, 'system' | 'timeline' | 'database'>

/** The history of the external catalogue when this node last used it, and the newest holds of this node. */
export class CataloguePastTable extends WithStatements {
  readonly #get = this.db.prepare<[], Row>(`
    SELECT system, timeline, "database", problem, set_back AS setBack FROM catalogue_past`)
  readonly #delete = this.db.prepare<[]>('DELETE FROM catalogue_past')
  readonly #insert = this.db.prepare<[string, string, string, string | null, string | null]>(`
    INSERT INTO catalogue_past (system, timeline, "database", problem, set_back) VALUES (?, ?, ?, ?, ?)`)
  readonly #newest = this.db.prepare<[number], { id: string }>(`
    SELECT holds.id FROM roots CROSS JOIN holds ON root_id = roots.id ORDER BY roots.id DESC LIMIT ?`)
  readonly #find = this.db.prepare<[string]>('SELECT 1 FROM holds WHERE id = ?')

  get(): { past: Marks; problem: string | null; setBack: string | null } | null {
    const row = this.#get.get()
    if (row === undefined) return null
    const { problem, setBack, ...past } = row
    return { past, problem, setBack }
  }

  put({ past, problem, setBack }: { past: Marks; problem: string | null; setBack: string | null }): void {
    this.db.transaction(() => {
      this.#delete.run()
      this.#insert.run(past.system, past.timeline, past.database, problem, setBack)
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
