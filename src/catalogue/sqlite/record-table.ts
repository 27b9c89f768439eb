import { HoldfastError } from '../../domain/errors.ts'
import type { PinStatus, StatusReason } from '../../domain/pin-status.ts'
import type { DagIdentity } from '../../ipld/cid.ts'
import type { Database, Statement } from '../../storage/database.ts'
import type { AccountUsage, NewRecord, RecordRow, RenameRequest } from '../records.ts'
import { AccountRecount } from './account-recount.ts'

export const RECORD_COLUMNS = `id, account_id AS accountId, cluster_id AS clusterId, cid, codec, multihash,
  root_id AS rootId, type, status, status_at AS statusAt, status_code AS statusCode, status_reason AS statusReason, fetch_id AS fetchId, name,
  original_name AS originalName, custom_name AS customName, meta, size, dag_size AS dagSize, charge, expires_at AS expiresAt,
  created_at AS createdAt`
/** Those of a {@link ListedRecord}. */
export const LISTED_COLUMNS = `id, account_id AS accountId, cluster_id AS clusterId, cid, type, status, name,
  original_name AS originalName, custom_name AS customName, meta, size, dag_size AS dagSize, expires_at AS expiresAt,
  created_at AS createdAt`
export const LIVE_RECORD = '(expires_at IS NULL OR expires_at > ?)'

type InsertParams = [
  ...[string, string, string, string, number, Uint8Array, number | null, string],
  ...[string, number, string | null, string | null, number | null],
  ...[string | null, string | null, string | null, string | null, number, number, number, number | null, number],
  ...[number | null],
]
type IdenticalParams = [
  ...[string, Uint8Array, number, string, number | null],
  ...[string | null, string | null, string | null, string | null, number],
]
type DagParams = [string, Uint8Array, number, number, string | null, string | null, number, number]

interface DagQuery {
  accountId: string
  dag: DagIdentity
  /** Null for all clusters. */
  clusterId: string | null
  now: number
  limit: number
  createdBy?: number
}

/** The rows of `records`, and the counters in `accounts` and numbers in `search_lists` that follow them. */
export class RecordTable {
  readonly #recount: AccountRecount
  readonly #insert: Statement<InsertParams, unknown>
  readonly #delete: Statement<[string], unknown>
  readonly #ofDag: Statement<DagParams, RecordRow>
  readonly #newestOf: Statement<[string, Uint8Array, number, number, number], RecordRow>
  readonly #hasDag: Statement<[string, Uint8Array, number], unknown>
  readonly #identical: Statement<IdenticalParams, RecordRow>
  readonly #get: Statement<[string], RecordRow>
  readonly #after: Statement<[string, number], RecordRow>
  readonly #setStatus: Statement<[PinStatus, number, string | null, string | null, string], unknown>
  readonly #setFetch: Statement<[number | null, string], unknown>
  readonly #dropContent: Statement<[string], unknown>
  readonly #setContent: Statement<[number, number, number, number, string], unknown>
  readonly #nextNumber: Statement<[string, number], { searchId: number }>
  readonly #searchId: Statement<[string], { searchId: number }>
  readonly #setNames: Statement<[string | null, string | null, string | null, string, string, number], unknown>
  readonly #expired: Statement<[number, number], RecordRow>
  readonly #nextExpiry: Statement<[], { expiresAt: number | null }>
  readonly #count: Statement<[number, number, number, string], unknown>
  readonly #counters: Statement<[string], AccountUsage>
  readonly #countExpired: Statement<[string, number], { count: number }>
  readonly #changed: () => void
  readonly #countUnfinished: Statement<[string, number], { count: number }>

  /** @param changed called when what a record is found by has changed */
  constructor(db: Database, changed: () => void = () => undefined) {
    this.#changed = changed
    this.#recount = new AccountRecount(db)
    this.#insert = db.prepare(`
      INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, root_id, type, status, status_at,
        status_code, status_reason, fetch_id, name, original_name, custom_name, meta, size, dag_size, charge, expires_at,
        created_at, search_id)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#nextNumber = db.prepare(`
      INSERT INTO search_lists (account_id, last, newest) VALUES (?, 1, ?)
      ON CONFLICT (account_id) DO UPDATE SET last = last + 1, newest = MAX(newest, excluded.newest),
        disordered = disordered OR excluded.newest < newest
      RETURNING number * 4294967296 + last AS searchId`)
    this.#delete = db.prepare('DELETE FROM records WHERE id = ?')
    this.#ofDag = db.prepare(`
      SELECT ${RECORD_COLUMNS} FROM records INDEXED BY records_by_content
      WHERE account_id = ? AND multihash = ? AND codec = ? AND ${LIVE_RECORD}
        AND (? IS NULL OR cluster_id = ?) AND created_at <= ?
      ORDER BY created_at DESC, id DESC LIMIT ?`)
    this.#newestOf = db.prepare(`
      SELECT ${RECORD_COLUMNS} FROM records INDEXED BY records_by_content
      WHERE account_id = ? AND multihash = ? AND codec = ? AND (expires_at > ? OR (? = 0 AND expires_at IS NULL))
      ORDER BY created_at DESC, id DESC LIMIT 1`)
    this.#hasDag = db.prepare(`
      SELECT 1 FROM records INDEXED BY records_identical
      WHERE account_id = ? AND multihash = ? AND codec = ? AND (root_id IS NULL) = 0 LIMIT 1`)
    this.#get = db.prepare(`SELECT ${RECORD_COLUMNS} FROM records WHERE id = ?`)
    this.#after = db.prepare(`SELECT ${RECORD_COLUMNS} FROM records WHERE id > ? ORDER BY id LIMIT ?`)
    this.#setStatus = db.prepare(
      'UPDATE records SET status = ?, status_at = ?, status_code = ?, status_reason = ? WHERE id = ?',
    )
    this.#setFetch = db.prepare('UPDATE records SET fetch_id = ? WHERE id = ?')
    this.#dropContent = db.prepare('UPDATE records SET root_id = NULL, charge = 0 WHERE id = ?')
    this.#setContent = db.prepare('UPDATE records SET root_id = ?, size = ?, dag_size = ?, charge = ? WHERE id = ?')
    this.#searchId = db.prepare('SELECT search_id AS searchId FROM records WHERE id = ?')
    this.#setNames = db.prepare(`
      UPDATE records SET name = ?, custom_name = ?, meta = ? WHERE id = ? AND account_id = ? AND ${LIVE_RECORD}`)
    this.#identical = db.prepare(`
      SELECT ${RECORD_COLUMNS} FROM records INDEXED BY records_identical
      WHERE account_id = ? AND multihash = ? AND codec = ? AND (root_id IS NULL) IN (0, 1) AND cluster_id = ?
        AND expires_at IS ? AND name IS ? AND original_name IS ? AND custom_name IS ? AND meta IS ? AND ${LIVE_RECORD} LIMIT 1`)
    this.#expired = db.prepare(`
      SELECT ${RECORD_COLUMNS} FROM records INDEXED BY records_by_expiry
      WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?`)
    this.#nextExpiry = db.prepare(`
      SELECT MIN(expires_at) AS expiresAt FROM records INDEXED BY records_by_expiry WHERE expires_at IS NOT NULL`)
    this.#count = db.prepare(`
      UPDATE accounts SET pins = pins + ?, expiring_pins = expiring_pins + ?, stored_bytes = stored_bytes + ?
      WHERE id = ?`)
    this.#counters = db.prepare(
      'SELECT pins, expiring_pins AS expiringPins, stored_bytes AS storedBytes FROM accounts WHERE id = ?',
    )
    this.#countExpired = db.prepare(`
      SELECT COUNT(*) AS count FROM records INDEXED BY records_by_account_expiry
      WHERE account_id = ? AND expires_at IS NOT NULL AND expires_at <= ?`)
    this.#countUnfinished = db.prepare(`
      SELECT COUNT(*) AS count FROM (
        SELECT 1 FROM records INDEXED BY records_unfinished
        WHERE account_id = ? AND status IN ('queued', 'pinning') LIMIT ?)`)
  }

  insert(record: RecordRow): void {
    const { id, accountId, clusterId, cid, codec, multihash, rootId, type } = record
    const { status, statusAt, statusCode, statusReason, fetchId } = record
    const { name, originalName, customName, meta, size, dagSize, charge, expiresAt, createdAt } = record
    const adds = rootId !== null && !this.has(accountId, record)
    this.#insert.run(
      ...([id, accountId, clusterId, cid, codec, multihash, rootId, type] as const),
      ...([status, statusAt, statusCode, statusReason, fetchId] as const),
      ...([name, originalName, customName, meta, size, dagSize, charge, expiresAt, createdAt] as const),
      this.#nextNumber.get(accountId, createdAt)?.searchId ?? null,
    )
    this.#changed()
    const changes = this.#counts(record, 1, expiresAt === null ? 0 : 1, adds ? charge : 0)
    // It may have been deleted while the content came.
    if (changes === 0) throw new HoldfastError('NOT_FOUND', `there is no account ${accountId}`)
  }

  delete(record: RecordRow): void {
    const { id, accountId, charge, expiresAt } = record
    this.#delete.run(id)
    this.#changed()
    const frees = record.rootId !== null && !this.has(accountId, record)
    this.#counts(record, -1, expiresAt === null ? 0 : -1, frees ? -charge : 0)
  }

  /** An account's records of a DAG, newest first, that are live at an instant. */
  ofDag({ accountId, dag, clusterId, now, limit, createdBy = Number.MAX_SAFE_INTEGER }: DagQuery): RecordRow[] {
    return this.#ofDag.all(accountId, dag.multihash, dag.codec, now, clusterId, clusterId, createdBy, limit)
  }

  newestOf(query: { accountId: string; dag: DagIdentity; hasExpiration: boolean; now: number }): RecordRow | undefined {
    const { accountId, dag, hasExpiration, now } = query
    return this.#newestOf.get(accountId, dag.multihash, dag.codec, now, hasExpiration ? 1 : 0)
  }

  get(id: string): RecordRow | undefined {
    return this.#get.get(id)
  }

  /** The number of a record in the order in which they came. */
  searchId(id: string): number | undefined {
    return this.#searchId.get(id)?.searchId
  }

  setStatus(id: string, status: PinStatus, at: number, reason: StatusReason | null): void {
    this.#setStatus.run(status, at, reason?.code ?? null, reason?.text ?? null, id)
    this.#changed()
  }

  setFetch(id: string, fetchId: number | null): void {
    this.#setFetch.run(fetchId, id)
  }

  /** Has a record wait, as `pinning`, for content that it had: what the fetch brings counts instead. */
  setWaiting(record: RecordRow, fetchId: number, at: number, reason: string): void {
    this.setFetch(record.id, fetchId)
    this.setStatus(record.id, 'pinning', at, { code: null, text: reason })
    if (record.rootId === null) return
    this.#dropContent.run(record.id)
    const frees = !this.has(record.accountId, record)
    if (frees) this.#counts(record, 0, 0, -record.charge)
  }

  /** Gives a record the content that it has waited for. To be called before it has any. */
  setContent(record: RecordRow, root: { id: number; contentSize: number; dagSize: number; charge: number }): void {
    const adds = !this.has(record.accountId, record)
    this.#setContent.run(root.id, root.contentSize, root.dagSize, root.charge, record.id)
    this.#counts(record, 0, 0, adds ? root.charge : 0)
  }

  /** Only a live record of the account. Returns whether there is one. */
  rename({ id, accountId, name, meta, now }: RenameRequest): boolean {
    const record = this.get(id)
    if (record === undefined) return false
    const named = name ?? record.name
    const custom = name ?? record.customName
    const told = meta === undefined ? record.meta : meta
    this.#changed()
    return this.#setNames.run(named, custom, told, id, accountId, now).changes === 1
  }

  /** Whether the content of the DAG is held for the account; by a record that has expired but is not yet removed, too. */
  has(accountId: string, dag: DagIdentity): boolean {
    return this.#hasDag.get(accountId, dag.multihash, dag.codec) !== undefined
  }

  /** The live record that another of the same account, cluster, DAG, expiry and names would only repeat. */
  identical(record: NewRecord, now: number): RecordRow | undefined {
    const { accountId, multihash, codec, clusterId, expiresAt, name, originalName, customName, meta } = record
    return this.#identical.get(
      ...([accountId, multihash, codec, clusterId, expiresAt, name, originalName, customName, meta, now] as const),
    )
  }

  /** The next records by id, to go through all of them. */
  after(id: string, limit: number): RecordRow[] {
    return this.#after.all(id, limit)
  }

  expired(now: number, limit: number): RecordRow[] {
    return this.#expired.all(now, limit)
  }

  nextExpiry(): number | null {
    return this.#nextExpiry.get()?.expiresAt ?? null
  }

  /** Records of an account that wait for their content, counted up to a limit. */
  countUnfinished(accountId: string, limit: number): number {
    return this.#countUnfinished.get(accountId, limit)?.count ?? 0
  }

  usage(accountId: string, now: number): AccountUsage {
    const { pins, expiringPins, storedBytes, expired } = this.counts(accountId, now)
    return { pins: pins - expired, expiringPins: expiringPins - expired, storedBytes }
  }

  /** What is noted of an account, and how many of its records have expired and are not removed yet. */
  counts(accountId: string, now: number): AccountUsage & { expired: number } {
    const counters = this.#counters.get(accountId) ?? { pins: 0, expiringPins: 0, storedBytes: 0 }
    return { ...counters, expired: counters.expiringPins === 0 ? 0 : this.#expiredOf(accountId, now) }
  }

  /**
   * Counts a part of what an account has from its records. Once it is through, returns what its row says and what it
   * is, and with `mend` has the row say that; null before, and where there is no such account any more.
   */
  recount(
    accountId: string,
    { limit, mend }: { limit: number; mend: boolean },
  ): 'more' | { noted: AccountUsage; counted: AccountUsage } | null {
    const counted = this.#recount.step(accountId, limit)
    if (counted === null) return 'more'
    const noted = this.#counters.get(accountId)
    if (noted === undefined) return null
    const { pins, expiringPins, storedBytes } = counted
    if (mend)
      this.#count.run(
        ...([pins - noted.pins, expiringPins - noted.expiringPins, storedBytes - noted.storedBytes] as const),
        accountId,
      )
    return { noted, counted }
  }

  #expiredOf(accountId: string, now: number): number {
    return this.#countExpired.get(accountId, now)?.count ?? 0
  }

  /** Returns how many accounts there are that it counts for. */
  #counts(record: RecordRow, pins: number, expiringPins: number, storedBytes: number): number {
    const { changes } = this.#count.run(pins, expiringPins, storedBytes, record.accountId)
    this.#recount.changed(record, { pins, expiringPins, storedBytes })
    return changes
  }
}
