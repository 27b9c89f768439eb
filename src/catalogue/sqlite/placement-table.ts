import type { DagIdentity } from '../../ipld/cid.ts'
import type { Database, Statement } from '../../storage/database.ts'
import { MOST_WAITING, NOBODY, type PlacementLag, type PlacementRow } from '../placements.ts'
import type { RecordRow } from '../records.ts'
import { RECORD_COLUMNS } from './record-table.ts'

type RawRow = Omit<PlacementRow, 'isWanted' | 'isPlaced' | 'isAnew'> & { wanted: number; placed: number; anew: number }

const COLUMNS = `id, backend_id AS backendId, codec, multihash, account_id AS accountId, wanted, generation, placed,
  attempts, due_at AS dueAt, last_error AS lastError, unpin_until AS unpinUntil, anew`

/** The rows of `placements`, and the records that wait for each. */
export class PlacementTable {
  readonly #want: Statement<[number, number, Uint8Array, string, number, number], unknown>
  readonly #entrust: Statement<[number, number, Uint8Array, string, number], unknown>
  readonly #withdraw: Statement<[Uint8Array, number, number, Uint8Array, number, number], unknown>
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
  readonly #after: Statement<[number, number], RawRow>
  readonly #lost: Statement<[number, number, string, number], unknown>
  readonly #disown: Statement<[number, number, Uint8Array, string, number], unknown>
  readonly #lagging: Statement<[number, number], { count: number; since: number | null }>
  readonly #leaving: Statement<[number, number], { count: number }>
  readonly #waiting: Statement<[number, number], RecordRow>

  constructor(db: Database) {
    this.#want = db.prepare(`
      INSERT INTO placements (backend_id, codec, multihash, account_id, wanted, generation, due_at, wanted_at)
      VALUES (?, ?, ?, ?, 1, 1, ?, ?)
      ON CONFLICT (multihash, codec, backend_id) DO UPDATE SET
        account_id = excluded.account_id, wanted = 1, generation = generation + 1, placed = 0, attempts = 0,
        due_at = MAX(excluded.due_at, unpin_until), last_error = NULL, anew = 0, wanted_at = excluded.wanted_at
      -- What was left to it and is here all the same is sent to it as everything else.
      WHERE wanted = 0 OR (placed = 0 AND due_at IS NULL)`)
    this.#entrust = db.prepare(`
      INSERT INTO placements (backend_id, codec, multihash, account_id, wanted, generation, wanted_at)
      VALUES (?, ?, ?, ?, 1, 1, ?)
      ON CONFLICT (multihash, codec, backend_id) DO UPDATE SET
        account_id = excluded.account_id, wanted = 1, generation = generation + 1, placed = 0, attempts = 0,
        due_at = NULL, last_error = NULL, anew = 0, wanted_at = excluded.wanted_at
      WHERE wanted = 0`)
    this.#withdraw = db.prepare(`
      UPDATE placements SET wanted = 0, placed = 0, generation = generation + 1, attempts = 0, due_at = 0
      WHERE multihash = ? AND codec = ? AND backend_id = ? AND wanted = 1 AND NOT EXISTS (
        SELECT 1 FROM roots WHERE state = 'complete' AND multihash = ? AND codec = ? AND backend_id = ?)`)
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
    this.#unpinEnded = db.prepare(`
      UPDATE placements SET unpin_until = ?, due_at = ?
      WHERE id = ? AND placed = 0 AND due_at IS NOT NULL`)
    this.#setPlaced = db.prepare(`
      UPDATE placements SET placed = 1, due_at = NULL, last_error = NULL, anew = 0 WHERE id = ?`)
    this.#retry = db.prepare('UPDATE placements SET due_at = ?, last_error = ? WHERE id = ?')
    this.#delete = db.prepare('DELETE FROM placements WHERE id = ?')
    this.#after = db.prepare(`SELECT ${COLUMNS} FROM placements WHERE id > ? ORDER BY id LIMIT ?`)
    this.#lost = db.prepare(`
      UPDATE placements SET placed = 0, generation = generation + 1, attempts = 0, due_at = ?, wanted_at = ?,
        last_error = ?, anew = 1
      WHERE id = ?`)
    this.#disown = db.prepare(`
      INSERT INTO placements (backend_id, codec, multihash, account_id, wanted, generation, due_at)
      VALUES (?, ?, ?, ?, 0, 1, ?) ON CONFLICT DO NOTHING`)
    this.#lagging = db.prepare(`
      SELECT COUNT(*) AS count, MIN(wanted_at) AS since FROM (
        SELECT wanted_at FROM placements INDEXED BY placements_waiting
        WHERE wanted = 1 AND placed = 0 AND backend_id = ? ORDER BY wanted_at LIMIT ?)`)
    this.#leaving = db.prepare(`
      SELECT COUNT(*) AS count FROM (
        SELECT 1 FROM placements INDEXED BY placements_leaving WHERE wanted = 0 AND backend_id = ? LIMIT ?)`)
    this.#waiting = db.prepare(`
      SELECT ${RECORD_COLUMNS} FROM records INDEXED BY records_placing
      WHERE status = 'pinning' AND root_id = ? LIMIT ?`)
  }

  /** Has a backend keep a DAG. Returns whether it is known to do so already. */
  want(backendId: number, dag: DagIdentity, accountId: string, now: number): boolean {
    this.#want.run(backendId, dag.codec, dag.multihash, accountId, now, now)
    return this.find(backendId, dag)?.isPlaced === true
  }

  /** Has a backend keep a DAG that it fetches by itself. */
  entrust(backendId: number, { codec, multihash }: DagIdentity, accountId: string, now: number): void {
    this.#entrust.run(backendId, codec, multihash, accountId, now)
  }

  /** Has a backend let go of a DAG, unless that is here, whole. */
  withdraw(backendId: number, { codec, multihash }: DagIdentity): void {
    this.#withdraw.run(multihash, codec, backendId, multihash, codec, backendId)
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

  after(id: number, limit: number): PlacementRow[] {
    return this.#after.all(id, limit).flatMap(row => read(row) ?? [])
  }

  lost(id: number, now: number, reason: string): void {
    this.#lost.run(now, now, reason, id)
  }

  /** Has a backend let go of what no row is for. Returns whether there was none. */
  disown(backendId: number, dag: DagIdentity, now: number): boolean {
    return this.#disown.run(backendId, dag.codec, dag.multihash, NOBODY, now).changes === 1
  }

  lag(backendId: number): PlacementLag {
    const { count: pins = 0, since = null } = this.#lagging.get(backendId, MOST_WAITING) ?? {}
    return { pins, unpins: this.#leaving.get(backendId, MOST_WAITING)?.count ?? 0, since }
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
  const { wanted, placed, anew, ...rest } = row
  return { ...rest, isWanted: wanted === 1, isPlaced: placed === 1, isAnew: anew === 1 }
}
