import type { Database } from '../storage/database.ts'
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

interface Run {
  run: string
  isJoined: 0 | 1
  revision: number
}

/** Starts that the node remembers. */
const RUNS = 100

type Marks = Pick<Row, 'system' | 'timeline' | 'database'>

/** The history of the external catalogue when this node last used it, and the newest holds of this node. */
export class CataloguePastTable extends WithStatements {
  readonly #birth: string | null
  readonly #get = this.db.prepare<[], Row>(`
    SELECT system, timeline, "database", problem, set_back AS setBack FROM catalogue_past`)
  readonly #delete = this.db.prepare<[]>('DELETE FROM catalogue_past')
  readonly #insert = this.db.prepare<[string, string, string, string | null, string | null]>(`
    INSERT INTO catalogue_past (system, timeline, "database", problem, set_back) VALUES (?, ?, ?, ?, ?)`)
  readonly #newest = this.db.prepare<[number], { id: string }>(`
    SELECT holds.id FROM roots CROSS JOIN holds ON root_id = roots.id ORDER BY roots.id DESC LIMIT ?`)
  readonly #find = this.db.prepare<[string]>('SELECT 1 FROM holds WHERE id = ?')
  readonly #trustAll = this.db.prepare<[]>('DELETE FROM uncompared')
  readonly #distrust = this.db.prepare<[]>(`
    INSERT INTO uncompared (root_id) SELECT COALESCE(MAX(id), 0) FROM roots`)
  readonly #runs = this.db.prepare<[number], Run>(`
    SELECT run, is_joined AS isJoined, revision FROM catalogue_runs ORDER BY rowid DESC LIMIT ?`)
  readonly #setJoined = this.db.prepare<[string]>('UPDATE catalogue_runs SET is_joined = 1 WHERE run = ?')
  readonly #setBirth = this.db.prepare<[string | null, string]>('UPDATE catalogue_runs SET birth = ? WHERE run = ?')
  readonly #setFollows = this.db.prepare<[number, number]>(`
    UPDATE catalogue_runs SET follows = ? WHERE follows <> ? AND rowid = (SELECT MAX(rowid) FROM catalogue_runs)`)
  readonly #forgetRuns = this.db.prepare<[number]>(`
    DELETE FROM catalogue_runs WHERE is_joined = 0 OR rowid <= (SELECT MAX(rowid) FROM catalogue_runs) - ?`)
  readonly #addRun = this.db.prepare<[string, number]>('INSERT INTO catalogue_runs (run, revision) VALUES (?, ?)')
  readonly #setRevision = this.db.prepare<[number]>(`
    UPDATE catalogue_runs SET revision = ? WHERE rowid = (SELECT MAX(rowid) FROM catalogue_runs)`)

  /** @param birth names the file of this ledger */
  constructor(database: Database, birth: string | null = null) {
    super(database)
    this.#birth = birth
  }

  get(): { past: Marks; problem: string | null; setBack: string | null } | null {
    const row = this.#get.get()
    if (row === undefined) return null
    const { problem, setBack, ...past } = row
    return { past, problem, setBack }
  }

  put(
    { past, problem, setBack }: { past: Marks; problem: string | null; setBack: string | null },
    lacksNothing = false,
  ): void {
    this.db.transaction(() => {
      // Ledger and catalogue may disagree about the owners of roots.
      if (!lacksNothing && setBack !== null && setBack !== this.#get.get()?.setBack) {
        this.#trustAll.run()
        this.#distrust.run()
      }
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

  /** Returns which of the two was set back since the last start: the catalogue, this ledger, or neither. */
  olderSide({ run, confirmed }: { run: string | null; confirmed: number | null }): 'catalogue' | 'ledger' | null {
    const runs = this.#runs.all(RUNS)
    const [last, before] = runs
    // 0.3.0 noted no runs.
    if (last === undefined) return confirmed === null ? null : 'ledger'
    const isLast = run === last.run || (last.isJoined === 0 && run === before?.run)
    if (isLast || run === null) return (confirmed ?? 0) > last.revision ? 'ledger' : null
    return runs.some(one => one.run === run) ? 'catalogue' : 'ledger'
  }

  /**
   * Notes a start before the catalogue does.
   *
   * @param known the last run in the catalogue
   */
  begin(run: string, known: string | null): void {
    this.db.transaction(() => {
      const revision = this.revision()
      if (known !== null) this.#setJoined.run(known)
      this.#forgetRuns.run(RUNS)
      this.#addRun.run(run, revision)
    })
  }

  /** Notes that the catalogue has a start. */
  joined(run: string): void {
    this.db.transaction(() => {
      this.#setJoined.run(run)
      this.#setBirth.run(this.#birth, run)
    })
  }

  /** Notes durably whether the node has all changes, and later ones wait for it. Returns whether that is new. */
  follow(isFollowing: boolean): boolean {
    const follows = isFollowing ? 1 : 0
    return this.db.durably(() => this.#setFollows.run(follows, follows).changes > 0)
  }

  /** Returns the newest change of the catalogue that this node has confirmed; 0 for none. */
  revision(): number {
    return this.#runs.get(1)?.revision ?? 0
  }

  /** Notes a change before the node confirms it in the catalogue. */
  confirm(revision: number): void {
    this.#setRevision.run(revision)
  }
}
