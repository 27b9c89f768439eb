import type { Database, Statement } from '../../storage/database.ts'

/** How many rows of a state there are, and their bytes together. */
export interface StateCount {
  state: string
  count: number
  bytes: number
}

/** A slice of a table, counted, and where the next one begins; null after the last. */
export interface Slice {
  counts: StateCount[]
  next: number | null
}

type SliceRow = StateCount & { last: number }

/** Counts what is stored. Large tables are counted in slices, so that no statement takes long. */
export class CensusTable {
  readonly #blocks: Statement<[number, number], SliceRow>
  readonly #roots: Statement<[number, number], SliceRow>
  readonly #garbage: Statement<[number], { count: number }>
  readonly #accounts: Statement<[], { accounts: number; pins: number; bytes: number }>
  readonly #unfinished: Statement<[], { status: string; count: number }>
  readonly #size: Statement<[], { bytes: number }>

  constructor(db: Database) {
    const slice = (table: string, size: string): Statement<[number, number], SliceRow> =>
      db.prepare(`
        SELECT state, count(*) AS count, sum(size) AS bytes, max(id) AS last
        FROM (SELECT id, state, ${size} AS size FROM ${table} WHERE id > ? ORDER BY id LIMIT ?) GROUP BY state`)
    this.#blocks = slice('blocks', 'size')
    this.#roots = slice('roots', 'dag_size')
    this.#garbage = db.prepare('SELECT count(*) AS count FROM (SELECT 1 FROM garbage LIMIT ?)')
    this.#accounts = db.prepare(`
      SELECT count(*) FILTER (WHERE deleted_at IS NULL) AS accounts, coalesce(sum(pins), 0) AS pins, coalesce(sum(stored_bytes), 0) AS bytes
      FROM accounts`)
    this.#unfinished = db.prepare(
      'SELECT status, count(*) AS count FROM records WHERE fetch_id IS NOT NULL GROUP BY status',
    )
    this.#size = db.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()')
  }

  /** Of all backends. */
  blocksAfter(id: number, limit: number): Slice {
    return sliceOf(this.#blocks.all(id, limit))
  }

  rootsAfter(id: number, limit: number): Slice {
    return sliceOf(this.#roots.all(id, limit))
  }

  /** Blocks that wait for the collector; not counted beyond `most`. */
  garbage(most: number): number {
    return this.#garbage.get(most)?.count ?? 0
  }

  /** Records and bytes are those of the accounts' counters. */
  accounts(): { accounts: number; pins: number; bytes: number } {
    return this.#accounts.get() ?? { accounts: 0, pins: 0, bytes: 0 }
  }

  /** Records that still wait for their content, by status. */
  unfinished(): { status: string; count: number }[] {
    return this.#unfinished.all()
  }

  /** Of the database itself, small blocks included. */
  databaseBytes(): number {
    return this.#size.get()?.bytes ?? 0
  }
}

function sliceOf(rows: readonly SliceRow[]): Slice {
  const counts = rows.map(({ state, count, bytes }) => ({ state, count, bytes }))
  return { counts, next: rows.length === 0 ? null : Math.max(...rows.map(({ last }) => last)) }
}
