import type { DagIdentity } from '../../domain/cid.ts'
import type { Database, Statement } from '../../storage/database.ts'
import type { PlacementRow } from '../placements.ts'
import type { RecordRow } from '../records.ts'
import { RECORD_COLUMNS } from './record-table.ts'

type RawRow = Omit<PlacementRow, 'isWanted' | 'isPlaced'> & { wanted: number; placed: number }

const COLUMNS = `id, backend_id AS backendId, codec, multihash, account_id AS accountId, wanted, generation, placed,
  attempts, due_at AS dueAt, last_error AS lastError, unpin_until AS unpinUntil`

/** The rows of `placements`, and the records that wait for each. */
export class PlacementTable {
  readonly #want: Statement<[number, number, Uint8Array, string, number], unknown>
  readonly #get: Statement<[number], RawRow>
  readonly #find: Statement<[Uint8Array, number, number], RawRow>
  readonly #accountAfter: Statement<[number, string], { accountId: string }>
  readonly #dueOf: Statement<[number, string, number, number], RawRow>
  readonly #nextDue: Statement<[number], { at: number | null }>
  readonly #begin: Statement<[number], unknown>
  readonly #beginUnpin: Statement<[number, number], unknown>
  readonly #unpinEnded: Statement<[number, number, number], unknown>
  readonly #setPlaced: Statement<[number], unknown>
  readonly #retry: Statement<[number, string | null, number], unknown>
  readonly #delete: Statement<[number], unknown>
  readonly #waiting: Statement<[number, number], RecordRow>

  constructor(db: Database) {
    this.#want = db.prepare(`
      INSERT INTO placements (backend_id, codec, multihash, account_id, wanted, generation, due_at)
      VALUES (?, ?, ?, ?, 1, 1, ?)
      ON CONFLICT (multihash, codec, backend_id) DO UPDATE SET
        account_id = excluded.account_id, wanted = 1, generation = generation + 1, placed = 0, attempts = 0,
        due_at = MAX(excluded.due_at, unpin_until), last_error = NULL
      WHERE wanted = 0`)
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM placements WHERE id = ?`)
    this.#find = db.prepare(`SELECT ${COLUMNS} FROM placements WHERE multihash = ? AND codec = ? AND backend_id = ?`)
    this.#accountAfter = db.prepare(`
      SELECT MIN(account_id) AS accountId FROM placements INDEXED BY placements_by_account
      WHERE due_at IS NOT NULL AND backend_id = ? AND account_id > ?`)
    this.#dueOf = db.prepare(`
      SELECT ${COLUMNS} FROM placements INDEXED BY placements_by_account
      WHERE due_at IS NOT NULL AND backend_id = ? AND account_id = ? AND due_at <= ? ORDER BY due_at LIMIT ?`)
    this.#nextDue = db.prepare(`
      SELECT MIN(due_at) AS at FROM placements INDEXED BY placements_by_time
      WHERE due_at IS NOT NULL AND backend_id = ?`)
    this.#begin = db.prepare('UPDATE placements SET attempts = attempts + 1 WHERE id = ?')
    this.#beginUnpin = db.prepare('UPDATE placements SET unpin_until = ? WHERE id = ?')
    this.#unpinEnded = db.prepare('UPDATE placements SET unpin_until = ?, due_at = ? WHERE id = ? AND placed = 0')
    this.#setPlaced = db.prepare('UPDATE placements SET placed = 1, due_at = NULL, last_error = NULL WHERE id = ?')
    this.#retry = db.prepare('UPDATE placements SET due_at = ?, last_error = ? WHERE id = ?')
    this.#delete = db.prepare('DELETE FROM placements WHERE id = ?')
    this.#waiting = db.prepare(`
      SELECT ${RECORD_COLUMNS} FROM records INDEXED BY records_placing
      WHERE status = 'pinning' AND root_id = ? LIMIT ?`)
  }

  /** Has a backend keep a DAG. Returns whether it is known to do so already. */
  want(backendId: number, dag: DagIdentity, accountId: string, now: number): boolean {
    this.#want.run(backendId, dag.codec, dag.multihash, accountId, now)
    return this.find(backendId, dag)?.isPlaced === true
  }

  get(id: number): PlacementRow | undefined {
    return read(this.#get.get(id))
  }

  find(backendId: number, dag: DagIdentity): PlacementRow | undefined {
    return read(this.#find.get(dag.multihash, dag.codec, backendId))
  }

  /** The next account by id for which something is to be done on a backend, due or not. */
  accountAfter(backendId: number, after: string): string | null {
    return this.#accountAfter.get(backendId, after)?.accountId ?? null
  }

  dueOf(backendId: number, accountId: string, now: number, limit: number): PlacementRow[] {
    return this.#dueOf.all(backendId, accountId, now, limit).flatMap(row => read(row) ?? [])
  }

  nextDue(backendId: number): number | null {
    return this.#nextDue.get(backendId)?.at ?? null
  }

  begin(id: number): void {
    this.#begin.run(id)
  }

  beginUnpin(id: number, until: number): void {
    this.#beginUnpin.run(until, id)
  }

  /** What the last attempt has sent cannot arrive any more; what earlier ones have may until `until`. */
  unpinEnded(id: number, until: number, dueAt: number): void {
    this.#unpinEnded.run(until, dueAt, id)
  }

  setPlaced(id: number): void {
    this.#setPlaced.run(id)
  }

  retry(id: number, at: number, reason: string | null): void {
    this.#retry.run(at, reason, id)
  }

  delete(id: number): void {
    this.#delete.run(id)
  }

  /** Some of the records that have a root and wait until its backend does. */
  waiting(rootId: number, limit: number): RecordRow[] {
    return this.#waiting.all(rootId, limit)
  }
}

function read(row: RawRow | undefined): PlacementRow | undefined {
  if (row === undefined) return undefined
  const { wanted, placed, ...rest } = row
  return { ...rest, isWanted: wanted === 1, isPlaced: placed === 1 }
}
