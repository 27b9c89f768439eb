import type { PinStatus } from '../../domain/pin-status.ts'
import type { DagIdentity } from '../../ipld/cid.ts'
import type { Database, Statement } from '../../storage/database.ts'
import type { FetchRow } from '../fetches.ts'
import type { Brought, RecordRow } from '../records.ts'
import { RECORD_COLUMNS } from './record-table.ts'

type RawRow = Omit<FetchRow, 'origins' | 'isWhole'> & { origins: string; whole: number }

const COLUMNS = `id, account_id AS accountId, backend_id AS backendId, codec, multihash, root_id AS rootId, origins,
  attempts, next_attempt_at AS nextAttemptAt, last_error AS lastError, bytes, blocks, charge, whole`

/** The rows of `fetches`, and which records wait for each. */
export class FetchTable {
  readonly #insert: Statement<[string, number, number, Uint8Array, number, string, number], unknown>
  readonly #get: Statement<[number], RawRow>
  readonly #find: Statement<[Uint8Array, number, number], RawRow>
  readonly #dueOf: Statement<[string, number, number], RawRow>
  readonly #accountAfter: Statement<[string], { accountId: string }>
  readonly #nextDue: Statement<[], { at: number | null }>
  readonly #start: Statement<[number], unknown>
  readonly #isRunning: Statement<[number], unknown>
  readonly #heldFor: Statement<[string], { id: number; charge: number }>
  readonly #setBrought: Statement<[number, number, number, number], unknown>
  readonly #fail: Statement<[string, number | null, number], unknown>
  readonly #schedule: Statement<[number, number], unknown>
  readonly #renew: Statement<[number, string, number], unknown>
  readonly #setWhole: Statement<[number, number], unknown>
  readonly #running: Statement<[number], { id: number }>
  readonly #after: Statement<[number, number], { id: number }>
  readonly #delete: Statement<[number], unknown>
  readonly #waiting: Statement<[number, number], RecordRow>
  readonly #waitingAs: Statement<[number, PinStatus, number], RecordRow>
  readonly #waitingAccounts: Statement<[number], { accountId: string }>
  readonly #waitersOf: Statement<[string, number], { id: string }>

  constructor(db: Database) {
    this.#insert = db.prepare(`
      INSERT INTO fetches (account_id, backend_id, codec, multihash, root_id, origins, next_attempt_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)`)
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM fetches WHERE id = ?`)
    this.#find = db.prepare(`SELECT ${COLUMNS} FROM fetches WHERE multihash = ? AND codec = ? AND backend_id = ?`)
    this.#dueOf = db.prepare(`
      SELECT ${COLUMNS} FROM fetches INDEXED BY fetches_by_account
      WHERE account_id = ? AND next_attempt_at IS NOT NULL AND next_attempt_at <= ? ORDER BY next_attempt_at LIMIT ?`)
    this.#accountAfter = db.prepare(`
      SELECT account_id AS accountId FROM fetches INDEXED BY fetches_by_account
      WHERE next_attempt_at IS NOT NULL AND account_id > ? ORDER BY account_id LIMIT 1`)
    this.#nextDue = db.prepare(`
      SELECT MIN(next_attempt_at) AS at FROM fetches INDEXED BY fetches_by_time WHERE next_attempt_at IS NOT NULL`)
    this.#start = db.prepare(
      'UPDATE fetches SET attempts = attempts + 1, next_attempt_at = NULL, running = 1 WHERE id = ?',
    )
    this.#isRunning = db.prepare('SELECT 1 FROM fetches WHERE id = ? AND running = 1')
    this.#setBrought = db.prepare('UPDATE fetches SET blocks = ?, bytes = ?, charge = ? WHERE id = ?')
    this.#fail = db.prepare('UPDATE fetches SET last_error = ?, next_attempt_at = ?, running = 0 WHERE id = ?')
    this.#heldFor = db.prepare(`
      SELECT id, charge FROM fetches WHERE id IN (
        SELECT fetch_id FROM records INDEXED BY records_waiting WHERE account_id = ? AND fetch_id IS NOT NULL)`)
    this.#schedule = db.prepare('UPDATE fetches SET next_attempt_at = ?, running = 0 WHERE id = ?')
    this.#renew = db.prepare('UPDATE fetches SET next_attempt_at = ?, origins = ?, attempts = 0 WHERE id = ?')
    this.#setWhole = db.prepare('UPDATE fetches SET whole = 1, root_id = ? WHERE id = ?')
    this.#running = db.prepare(
      'SELECT id FROM fetches INDEXED BY fetches_running WHERE running = 1 ORDER BY id LIMIT ?',
    )
    this.#after = db.prepare('SELECT id FROM fetches WHERE id > ? ORDER BY id LIMIT ?')
    this.#delete = db.prepare('DELETE FROM fetches WHERE id = ?')
    this.#waiting = db.prepare(`
      SELECT ${RECORD_COLUMNS} FROM records INDEXED BY records_by_fetch
      WHERE fetch_id = ? AND fetch_id IS NOT NULL LIMIT ?`)
    this.#waitingAs = db.prepare(`
      SELECT ${RECORD_COLUMNS} FROM records INDEXED BY records_by_fetch
      WHERE fetch_id = ? AND fetch_id IS NOT NULL AND status = ? LIMIT ?`)
    this.#waitingAccounts = db.prepare(`
      SELECT DISTINCT account_id AS accountId FROM records INDEXED BY records_by_fetch
      WHERE fetch_id = ? AND fetch_id IS NOT NULL`)
    this.#waitersOf = db.prepare(`
      SELECT id FROM records INDEXED BY records_waiting
      WHERE account_id = ? AND fetch_id = ? AND fetch_id IS NOT NULL`)
  }

  /** Returns the new fetch's id. */
  insert(fetch: {
    accountId: string
    backendId: number
    dag: DagIdentity
    rootId: number
    origins?: readonly string[]
    dueAt: number
  }): number {
    const { accountId, backendId, dag, rootId, origins = [], dueAt } = fetch
    const values = [accountId, backendId, dag.codec, dag.multihash, rootId, JSON.stringify(origins), dueAt] as const
    return Number(this.#insert.run(...values).lastInsertRowid)
  }

  get(id: number): FetchRow | undefined {
    const row = this.#get.get(id)
    return row === undefined ? undefined : toRow(row)
  }

  find(backendId: number, dag: DagIdentity): FetchRow | undefined {
    const row = this.#find.get(dag.multihash, dag.codec, backendId)
    return row === undefined ? undefined : toRow(row)
  }

  /** Those of an account whose next attempt is due, the longest waiting first. */
  dueOf(accountId: string, now: number, limit: number): FetchRow[] {
    return this.#dueOf.all(accountId, now, limit).map(toRow)
  }

  /** The next account, by id, that has a fetch scheduled; null if there is none beyond. */
  accountAfter(accountId: string): string | null {
    return this.#accountAfter.get(accountId)?.accountId ?? null
  }

  nextDue(): number | null {
    return this.#nextDue.get()?.at ?? null
  }

  /** Counts an attempt, which runs from now on. */
  start(id: number): void {
    this.#start.run(id)
  }

  isRunning(id: number): boolean {
    return this.#isRunning.get(id) !== undefined
  }

  /** Some of those that run, or did when their process ended. */
  running(limit: number): number[] {
    return this.#running.all(limit).map(row => row.id)
  }

  setBrought(id: number, { blocks, bytes, charge }: Brought): void {
    this.#setBrought.run(blocks, bytes, charge, id)
  }

  /** Ends an attempt. @param retryAt null if nothing more is tried by itself */
  fail(id: number, reason: string, retryAt: number | null): void {
    this.#fail.run(reason, retryAt, id)
  }

  /** The fetches that an account waits for, and what the blocks that each has left behind count. */
  heldFor(accountId: string): Array<{ id: number; charge: number }> {
    return this.#heldFor.all(accountId)
  }

  /** Ends an attempt and asks for one more. */
  schedule(id: number, dueAt: number): void {
    this.#schedule.run(dueAt, id)
  }

  /** Asks for an attempt as if it were the first. */
  renew(id: number, dueAt: number, origins: readonly string[]): void {
    this.#renew.run(dueAt, JSON.stringify(origins), id)
  }

  setWhole(id: number, rootId: number): void {
    this.#setWhole.run(rootId, id)
  }

  /** The ids of the next fetches, to go through all of them. */
  after(id: number, limit: number): number[] {
    return this.#after.all(id, limit).map(row => row.id)
  }

  delete(id: number): void {
    this.#delete.run(id)
  }

  /** Some of the records that wait. */
  waiting(id: number, limit: number): RecordRow[] {
    return this.#waiting.all(id, limit)
  }

  /** Some of the records that wait and have a status. */
  waitingAs(id: number, status: PinStatus, limit: number): RecordRow[] {
    return this.#waitingAs.all(id, status, limit)
  }

  isWanted(id: number): boolean {
    return this.#waiting.get(id, 1) !== undefined
  }

  waitingAccounts(id: number): string[] {
    return this.#waitingAccounts.all(id).map(row => row.accountId)
  }

  /** The ids of an account's records that wait. */
  waitersOf(id: number, accountId: string): string[] {
    return this.#waitersOf.all(accountId, id).map(row => row.id)
  }
}

function toRow({ whole, origins, ...row }: RawRow): FetchRow {
  return { ...row, origins: JSON.parse(origins) as string[], isWhole: whole === 1 }
}
