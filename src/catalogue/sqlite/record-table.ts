import type { DagIdentity } from '../../domain/cid.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { PinStatus } from '../../domain/pin-status.ts'
import type { Database, Statement } from '../../storage/database.ts'

/** A row of `records`; see `PinRecord` for the meaning of each field. */
export interface RecordRow {
  id: string
  accountId: string
  clusterId: string
  cid: string
  codec: number
  multihash: Uint8Array
  rootId: number | null
  type: 'file' | 'directory' | 'pin'
  status: PinStatus
  statusAt: number
  statusReason: string | null
  fetchId: number | null
  name: string | null
  originalName: string | null
  customName: string | null
  size: number
  dagSize: number
  expiresAt: number | null
  createdAt: number
}

/** Which records of an account a list wants; `now` hides the expired. */
export interface RecordFilter {
  accountId: string
  multihash: Uint8Array | null
  hasExpiration: boolean
  now: number
}

const COLUMNS = `id, account_id AS accountId, cluster_id AS clusterId, cid, codec, multihash, root_id AS rootId, type,
  status, status_at AS statusAt, status_reason AS statusReason, fetch_id AS fetchId, name, original_name AS originalName, custom_name AS customName, size, dag_size AS dagSize,
  expires_at AS expiresAt, created_at AS createdAt`
const LIVE = '(expires_at IS NULL OR expires_at > ?)'

type InsertParams = [
  ...[string, string, string, string, number, Uint8Array, number | null, string],
  ...[string, number, string | null, number | null],
  ...[string | null, string | null, string | null, number, number, number | null, number],
]

type IdenticalParams = [
  ...[string, Uint8Array, number, number, string, number | null],
  ...[string | null, string | null, string | null],
]

/** The rows of `records`, and the counters in `accounts` that follow them. */
export class RecordTable {
  readonly #insert: Statement<InsertParams, unknown>
  readonly #delete: Statement<[string], unknown>
  readonly #ofContent: Statement<[string, Uint8Array, number], RecordRow>
  readonly #hasDag: Statement<[string, Uint8Array, number], unknown>
  readonly #identical: Statement<IdenticalParams, RecordRow>
  readonly #get: Statement<[string], RecordRow>
  readonly #ofFetch: Statement<[number], RecordRow>
  readonly #setStatus: Statement<[PinStatus, number, string | null, string], unknown>
  readonly #setFetch: Statement<[number | null, string], unknown>
  readonly #setContent: Statement<[number, number, number, string], unknown>
  readonly #setName: Statement<[string, string, string], unknown>
  readonly #expired: Statement<[number, number], RecordRow>
  readonly #nextExpiry: Statement<[], { expiresAt: number | null }>
  readonly #liveUntil: Statement<[number], { count: number; forever: number; latest: number | null }>
  readonly #count: Statement<[number, number, number, string], unknown>
  readonly #counters: Statement<[string], { pins: number; expiringPins: number; storedBytes: number }>
  readonly #countExpired: Statement<[string, number], { count: number }>
  readonly #page: Statement<[string, number, number, number], RecordRow>
  readonly #expiringPage: Statement<[string, number, number, number], RecordRow>
  readonly #contentPage: Statement<[string, Uint8Array, number, number, number, number], RecordRow>
  readonly #contentCount: Statement<[string, Uint8Array, number, number], { count: number }>

  constructor(db: Database) {
    this.#insert = db.prepare(`
      INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, root_id, type, status, status_at,
        status_reason, fetch_id, name, original_name, custom_name, size, dag_size, expires_at, created_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#delete = db.prepare('DELETE FROM records WHERE id = ?')
    const ofContent = `SELECT ${COLUMNS} FROM records WHERE account_id = ? AND multihash = ?`
    this.#ofContent = db.prepare(`${ofContent} AND ${LIVE} ORDER BY created_at DESC, id DESC`)
    this.#hasDag = db.prepare(`
      SELECT 1 FROM records WHERE account_id = ? AND multihash = ? AND codec = ? AND status = 'pinned' LIMIT 1`)
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM records WHERE id = ?`)
    this.#ofFetch = db.prepare(`SELECT ${COLUMNS} FROM records WHERE fetch_id = ?`)
    this.#setStatus = db.prepare('UPDATE records SET status = ?, status_at = ?, status_reason = ? WHERE id = ?')
    this.#setFetch = db.prepare('UPDATE records SET fetch_id = ? WHERE id = ?')
    this.#setContent = db.prepare('UPDATE records SET root_id = ?, size = ?, dag_size = ? WHERE id = ?')
    this.#setName = db.prepare('UPDATE records SET name = ?, custom_name = ? WHERE id = ?')
    this.#identical = db.prepare(`${ofContent} AND ${LIVE} AND codec = ? AND cluster_id = ? AND expires_at IS ?
      AND name IS ? AND original_name IS ? AND custom_name IS ? LIMIT 1`)
    this.#expired = db.prepare(`
      SELECT ${COLUMNS} FROM records WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?`)
    this.#nextExpiry = db.prepare('SELECT MIN(expires_at) AS expiresAt FROM records WHERE expires_at IS NOT NULL')
    this.#liveUntil = db.prepare(`
      SELECT COUNT(*) AS count, COUNT(*) - COUNT(expires_at) AS forever, MAX(expires_at) AS latest
      FROM records WHERE root_id = ?`)
    this.#count = db.prepare(`
      UPDATE accounts SET pins = pins + ?, expiring_pins = expiring_pins + ?, stored_bytes = stored_bytes + ?
      WHERE id = ?`)
    this.#counters = db.prepare(
      'SELECT pins, expiring_pins AS expiringPins, stored_bytes AS storedBytes FROM accounts WHERE id = ?',
    )
    this.#countExpired = db.prepare(`
      SELECT COUNT(*) AS count FROM records INDEXED BY records_by_expiry
      WHERE account_id = ? AND expires_at IS NOT NULL AND expires_at <= ?`)
    const newest = 'ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?'
    this.#page = db.prepare(`SELECT ${COLUMNS} FROM records WHERE account_id = ? AND ${LIVE} ${newest}`)
    this.#expiringPage = db.prepare(
      `SELECT ${COLUMNS} FROM records WHERE account_id = ? AND expires_at IS NOT NULL AND expires_at > ? ${newest}`,
    )
    const content = `records WHERE account_id = ? AND multihash = ? AND ${LIVE} AND (? = 0 OR expires_at IS NOT NULL)`
    this.#contentPage = db.prepare(`SELECT ${COLUMNS} FROM ${content} ${newest}`)
    this.#contentCount = db.prepare(`SELECT COUNT(*) AS count FROM ${content}`)
  }

  insert(record: RecordRow): void {
    const { id, accountId, clusterId, cid, codec, multihash, rootId, type } = record
    const { status, statusAt, statusReason, fetchId } = record
    const { name, originalName, customName, size, dagSize, expiresAt, createdAt } = record
    const adds = !this.has(accountId, record)
    this.#insert.run(
      ...([id, accountId, clusterId, cid, codec, multihash, rootId, type] as const),
      ...([status, statusAt, statusReason, fetchId] as const),
      ...([name, originalName, customName, size, dagSize, expiresAt, createdAt] as const),
    )
    const { changes } = this.#count.run(1, expiresAt === null ? 0 : 1, adds ? dagSize : 0, accountId)
    // It may have been deleted while the content came.
    if (changes === 0) throw new HoldfastError('NOT_FOUND', `there is no account ${accountId}`)
  }

  delete(record: RecordRow): void {
    const { id, accountId, dagSize, expiresAt } = record
    this.#delete.run(id)
    const frees = record.status === 'pinned' && !this.has(accountId, record)
    this.#count.run(-1, expiresAt === null ? 0 : -1, frees ? -dagSize : 0, accountId)
  }

  /** An account's live records of a DAG, newest first. */
  ofDag(accountId: string, dag: DagIdentity, now: number): RecordRow[] {
    return this.#ofContent.all(accountId, dag.multihash, now).filter(record => record.codec === dag.codec)
  }

  get(id: string): RecordRow | undefined {
    return this.#get.get(id)
  }

  /** The records that wait for a fetch. */
  ofFetch(fetchId: number): RecordRow[] {
    return this.#ofFetch.all(fetchId)
  }

  setStatus(id: string, status: PinStatus, at: number, reason: string | null): void {
    this.#setStatus.run(status, at, reason, id)
  }

  setFetch(id: string, fetchId: number | null): void {
    this.#setFetch.run(fetchId, id)
  }

  /** Gives a record the content that it has waited for. To be called before it is `pinned`. */
  setContent(record: RecordRow, root: { id: number; contentSize: number; dagSize: number }): void {
    const adds = !this.has(record.accountId, record)
    this.#setContent.run(root.id, root.contentSize, root.dagSize, record.id)
    this.#count.run(0, 0, adds ? root.dagSize : 0, record.accountId)
  }

  rename(id: string, name: string): void {
    this.#setName.run(name, name, id)
  }

  /** Whether the account has the DAG pinned; by a record that has expired but is not yet removed, too. */
  has(accountId: string, dag: DagIdentity): boolean {
    return this.#hasDag.get(accountId, dag.multihash, dag.codec) !== undefined
  }

  /** The live record that another of the same account, cluster, DAG, expiry and names would only repeat. */
  identical(record: Omit<RecordRow, 'rootId' | 'dagSize' | 'fetchId'>, now: number): RecordRow | undefined {
    const { accountId, multihash, codec, clusterId, expiresAt, name, originalName, customName } = record
    return this.#identical.get(
      ...([accountId, multihash, now, codec, clusterId, expiresAt, name, originalName, customName] as const),
    )
  }

  expired(now: number, limit: number): RecordRow[] {
    return this.#expired.all(now, limit)
  }

  nextExpiry(): number | null {
    return this.#nextExpiry.get()?.expiresAt ?? null
  }

  /** Until when a root's records need it: an instant, null for ever, undefined if it has none. */
  liveUntil(rootId: number): number | null | undefined {
    const row = this.#liveUntil.get(rootId)
    if (row === undefined || row.count === 0) return undefined
    return row.forever > 0 ? null : row.latest
  }

  /** Live records and stored bytes of an account. Bytes of records that expired fall when they are removed. */
  usage(accountId: string, now: number): { pins: number; expiringPins: number; storedBytes: number } {
    const counters = this.#counters.get(accountId) ?? { pins: 0, expiringPins: 0, storedBytes: 0 }
    const expired = counters.expiringPins === 0 ? 0 : (this.#countExpired.get(accountId, now)?.count ?? 0)
    return {
      pins: counters.pins - expired,
      expiringPins: counters.expiringPins - expired,
      storedBytes: counters.storedBytes,
    }
  }

  count({ accountId, multihash, hasExpiration, now }: RecordFilter): number {
    if (multihash !== null) {
      return this.#contentCount.get(accountId, multihash, now, hasExpiration ? 1 : 0)?.count ?? 0
    }
    const usage = this.usage(accountId, now)
    return hasExpiration ? usage.expiringPins : usage.pins
  }

  page({ accountId, multihash, hasExpiration, now }: RecordFilter, offset: number, limit: number): RecordRow[] {
    if (multihash !== null) {
      return this.#contentPage.all(accountId, multihash, now, hasExpiration ? 1 : 0, limit, offset)
    }
    return (hasExpiration ? this.#expiringPage : this.#page).all(accountId, now, limit, offset)
  }
}
