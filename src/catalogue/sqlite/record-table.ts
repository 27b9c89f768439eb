import { HoldfastError } from '../../domain/errors.ts'
import type { PinStatus, StatusReason } from '../../domain/pin-status.ts'
import type { DagIdentity } from '../../ipld/cid.ts'
import type { Database } from '../../storage/database.ts'
import { foldedName } from '../../storage/search-function.ts'
import { WithStatements } from '../../storage/with-statements.ts'
import type { AccountUsage, NewRecord, RecordRow } from '../records.ts'
import { countsOf, usageOf } from '../rules/record-rules.ts'
import {
  COUNT,
  COUNTERS,
  GET_RECORD,
  HAS_DAG,
  INSERT_RECORD,
  LIVE_RECORD,
  listed,
  REPEATED_RECORD,
  SET_FETCH,
  SET_OWNER,
  SET_STATUS,
  SET_WAITING,
} from '../rules/record-statements.ts'
import { selectList } from '../rules/statement.ts'
import { AccountRecount } from './account-recount.ts'
import { CLOCK_JITTER_MS } from './list-order.ts'
import { SqliteStatements } from './sqlite-driver.ts'

export const LISTED_COLUMNS = selectList(listed).sqlite
export const IS_LIVE = LIVE_RECORD.replace(':now', '?')

const CLOCK_SET_BACK = `excluded.newest < newest - ${CLOCK_JITTER_MS}`

/** The rows of `records`. Also updates the counters in `accounts` and the record numbers in `search_lists`. */
export class RecordTable extends WithStatements {
  readonly #at: SqliteStatements
  readonly #recount: AccountRecount
  readonly #setContent = this.db.prepare<[number, number, number, number, string]>(`
    UPDATE records SET root_id = ?, size = ?, dag_size = ?, charge = ? WHERE id = ?`)
  readonly #delete = this.db.prepare<[string]>('DELETE FROM records WHERE id = ?')
  readonly #exists = this.db.prepare<[string]>('SELECT 1 FROM records WHERE id = ?')
  readonly #nextNumber = this.db.prepare<[string, number], { searchId: number }>(`
    INSERT INTO search_lists (account_id, last, newest) VALUES (?, 1, ?)
    ON CONFLICT (account_id) DO UPDATE SET last = last + 1,
      newest = CASE WHEN ${CLOCK_SET_BACK} THEN excluded.newest ELSE MAX(newest, excluded.newest) END,
      run = CASE WHEN ${CLOCK_SET_BACK} THEN last + 1 ELSE run END
    RETURNING number * 4294967296 + last AS searchId`)
  readonly #searchId = this.db.prepare<[string], { searchId: number }>(`
    SELECT search_id AS searchId FROM records WHERE id = ?`)
  readonly #removed = this.db.prepare<[string]>('SELECT 1 FROM removed_records WHERE id = ?')
  readonly #changed: () => void

  /** @param changed called when a change affects the search words of a record */
  constructor(db: Database, changed: () => void = () => undefined, statements = new SqliteStatements(db)) {
    super(db)
    this.#at = statements
    this.#changed = changed
    this.#recount = new AccountRecount(db)
  }

  insert(record: RecordRow): void {
    const { accountId, rootId, charge, expiresAt, createdAt } = record
    const adds = rootId !== null && !this.has(accountId, record)
    const searchId = this.#nextNumber.get(accountId, createdAt)?.searchId ?? null
    this.#at.run(INSERT_RECORD, { ...record, searchId, foldedName: foldedName(record.name) })
    this.#changed()
    const changes = this.#count(record, 1, expiresAt === null ? 0 : 1, adds ? charge : 0)
    // The account may have been deleted during the upload.
    if (changes === 0) throw new HoldfastError('NOT_FOUND', `there is no account ${accountId}`)
  }

  /**
   * Marks the search words of a record as changed.
   *
   * @param count the change of the account's usage, if the record was removed
   */
  found(record: RecordRow, count?: AccountUsage): void {
    this.#changed()
    if (count !== undefined) this.#recount.changed(record, count)
  }

  delete(id: string): void {
    this.#delete.run(id)
  }

  get(id: string): RecordRow | undefined {
    return this.#at.first(GET_RECORD, { id }) ?? undefined
  }

  exists(id: string): boolean {
    return this.#exists.get(id) !== undefined
  }

  /** Returns whether the record exists, or is removed and in its undo period. */
  isStored(id: string): boolean {
    return this.exists(id) || this.#removed.get(id) !== undefined
  }

  /** Returns an id that follows the insertion order. */
  searchId(id: string): number | undefined {
    return this.#searchId.get(id)?.searchId
  }

  setStatus(id: string, status: PinStatus, at: number, reason: StatusReason | null): void {
    this.#at.first(SET_STATUS, { id, status, at, code: reason?.code ?? null, text: reason?.text ?? null })
    this.#changed()
  }

  /** Returns the changed record. */
  setOwner(id: string, owner: number, rootId: number): RecordRow | null {
    this.#changed()
    return this.#at.first(SET_OWNER, { id, owner, rootId })
  }

  setFetch(id: string, fetchId: number | null): void {
    this.#at.run(SET_FETCH, { id, fetchId })
  }

  /**
   * Sets a record that had content to `pinning`. Until a fetch gets the content again, it does not count against the
   * quota.
   */
  setWaiting(record: RecordRow, fetchId: number, at: number, reason: string): void {
    this.#at.run(SET_WAITING, { id: record.id, fetchId })
    this.setStatus(record.id, 'pinning', at, { code: null, text: reason })
    const frees = record.rootId !== null && !this.has(record.accountId, record)
    if (frees) this.#count(record, 0, 0, -record.charge)
  }

  setContent(record: RecordRow, root: { id: number; contentSize: number; dagSize: number; charge: number }): void {
    const adds = !this.has(record.accountId, record)
    this.#setContent.run(root.id, root.contentSize, root.dagSize, root.charge, record.id)
    this.#count(record, 0, 0, adds ? root.charge : 0)
  }

  /** Returns whether a record has the content of the DAG, including expired records until they are removed. */
  has(accountId: string, { multihash, codec }: DagIdentity): boolean {
    return this.#at.first(HAS_DAG, { accountId, multihash, codec }) !== null
  }

  identical(record: NewRecord, now: number): RecordRow | undefined {
    return this.#at.first(REPEATED_RECORD, { ...record, now }) ?? undefined
  }

  usage(accountId: string, now: number): AccountUsage {
    return this.#at.carryOut(usageOf(accountId, now))
  }

  /** Returns the stored usage, and the number of expired records that are not removed yet. */
  counts(accountId: string, now: number): AccountUsage & { expired: number } {
    return this.#at.carryOut(countsOf(accountId, now))
  }

  /**
   * Counts a part of an account's usage. Returns `more` until the count is complete. Returns null if the account does
   * not exist.
   */
  recount(
    accountId: string,
    { limit, mend }: { limit: number; mend: boolean },
  ): 'more' | { noted: AccountUsage; counted: AccountUsage } | null {
    const counted = this.#recount.step(accountId, limit)
    if (counted === null) return 'more'
    const noted = this.#at.first(COUNTERS, { accountId })
    if (noted === null) return null
    const pins = counted.pins - noted.pins
    const expiringPins = counted.expiringPins - noted.expiringPins
    if (mend)
      this.#at.run(COUNT, { accountId, pins, expiringPins, storedBytes: counted.storedBytes - noted.storedBytes })
    return { noted, counted }
  }

  /** Returns 0 if the account does not exist. */
  #count(record: RecordRow, pins: number, expiringPins: number, storedBytes: number): number {
    const changes = this.#at.run(COUNT, { accountId: record.accountId, pins, expiringPins, storedBytes })
    this.#recount.changed(record, { pins, expiringPins, storedBytes })
    return changes
  }
}
