import type { DagIdentity } from '../../domain/cid.ts'
import type { Database, Statement } from '../../storage/database.ts'

/** A DAG that is to be fetched; see the schema for what each field means. */
export interface FetchRow {
  id: number
  backendId: number
  codec: number
  multihash: Uint8Array
  rootId: number
  origins: string[]
  attempts: number
  nextAttemptAt: number | null
  lastError: string | null
  bytes: number
}

type RawRow = Omit<FetchRow, 'origins'> & { origins: string }

const COLUMNS = `id, backend_id AS backendId, codec, multihash, root_id AS rootId, origins, attempts,
  next_attempt_at AS nextAttemptAt, last_error AS lastError, bytes`

/** The rows of `fetches`. */
export class FetchTable {
  readonly #insert: Statement<[number, number, Uint8Array, number, string, number], unknown>
  readonly #get: Statement<[number], RawRow>
  readonly #find: Statement<[Uint8Array, number, number], RawRow>
  readonly #due: Statement<[number], RawRow>
  readonly #nextDue: Statement<[], { at: number | null }>
  readonly #start: Statement<[number], unknown>
  readonly #heldFor: Statement<[string], { id: number; bytes: number }>
  readonly #fail: Statement<[string, number | null, number, number], unknown>
  readonly #repeat: Statement<[number, number], unknown>
  readonly #schedule: Statement<[number, string, number], unknown>
  readonly #interrupted: Statement<[number], unknown>
  readonly #delete: Statement<[number], unknown>

  constructor(db: Database) {
    this.#insert = db.prepare(`
      INSERT INTO fetches (backend_id, codec, multihash, root_id, origins, next_attempt_at) VALUES (?, ?, ?, ?, ?, ?)`)
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM fetches WHERE id = ?`)
    this.#find = db.prepare(`SELECT ${COLUMNS} FROM fetches WHERE multihash = ? AND codec = ? AND backend_id = ?`)
    this.#due = db.prepare(`SELECT ${COLUMNS} FROM fetches WHERE next_attempt_at <= ? ORDER BY next_attempt_at, id`)
    this.#nextDue = db.prepare('SELECT MIN(next_attempt_at) AS at FROM fetches')
    this.#start = db.prepare('UPDATE fetches SET attempts = attempts + 1, next_attempt_at = NULL WHERE id = ?')
    this.#fail = db.prepare('UPDATE fetches SET last_error = ?, next_attempt_at = ?, bytes = ? WHERE id = ?')
    this.#heldFor = db.prepare(`
      SELECT id, bytes FROM fetches WHERE id IN
        (SELECT fetch_id FROM records WHERE account_id = ? AND fetch_id IS NOT NULL)`)
    this.#repeat = db.prepare('UPDATE fetches SET next_attempt_at = ? WHERE id = ?')
    this.#schedule = db.prepare('UPDATE fetches SET next_attempt_at = ?, origins = ?, attempts = 0 WHERE id = ?')
    this.#interrupted = db.prepare(`
      UPDATE fetches SET next_attempt_at = ? WHERE next_attempt_at IS NULL AND id IN
        (SELECT fetch_id FROM records WHERE status IN ('queued', 'pinning') AND fetch_id IS NOT NULL)`)
    this.#delete = db.prepare('DELETE FROM fetches WHERE id = ?')
  }

  /** Returns the new fetch's id. */
  insert(backendId: number, dag: DagIdentity, rootId: number, origins: readonly string[], dueAt: number): number {
    const values = [backendId, dag.codec, dag.multihash, rootId, JSON.stringify(origins), dueAt] as const
    return Number(this.#insert.run(...values).lastInsertRowid)
  }

  get(id: number): FetchRow | undefined {
    return toRow(this.#get.get(id))
  }

  find(backendId: number, dag: DagIdentity): FetchRow | undefined {
    return toRow(this.#find.get(dag.multihash, dag.codec, backendId))
  }

  /** Those whose next attempt is due, the longest waiting first. */
  due(now: number): FetchRow[] {
    return this.#due.all(now).map(row => ({ ...row, origins: JSON.parse(row.origins) as string[] }))
  }

  nextDue(): number | null {
    return this.#nextDue.get()?.at ?? null
  }

  /** Counts an attempt. */
  start(id: number): void {
    this.#start.run(id)
  }

  /**
   * @param retryAt null if nothing more is tried by itself
   * @param bytes of the blocks that stay
   */
  fail(id: number, reason: string, retryAt: number | null, bytes: number): void {
    this.#fail.run(reason, retryAt, bytes, id)
  }

  /** The fetches that an account waits for, and what each has left behind. */
  heldFor(accountId: string): Array<{ id: number; bytes: number }> {
    return this.#heldFor.all(accountId)
  }

  /** Asks for one more attempt. */
  repeat(id: number, dueAt: number): void {
    this.#repeat.run(dueAt, id)
  }

  /** Asks for an attempt as if it were the first. */
  schedule(id: number, dueAt: number, origins: readonly string[]): void {
    this.#schedule.run(dueAt, JSON.stringify(origins), id)
  }

  /** Has what an earlier process was fetching start again, attempts kept. */
  rescheduleInterrupted(dueAt: number): void {
    this.#interrupted.run(dueAt)
  }

  delete(id: number): void {
    this.#delete.run(id)
  }
}

function toRow(row: RawRow | undefined): FetchRow | undefined {
  return row === undefined ? undefined : { ...row, origins: JSON.parse(row.origins) as string[] }
}
