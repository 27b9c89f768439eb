import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import type { Database, SqlValue, Statement } from '../../storage/database.ts'
import type { Page, PageRequest } from '../page.ts'
import type { AccountUsage, ListedRecord, RecordFilter, RecordRow } from '../records.ts'
import { IS_LIVE, LISTED_COLUMNS, type RecordTable } from './record-table.ts'

/** The sort key of a record. Lists are sorted newest first. */
interface Key {
  createdAt: number
  id: string
}

/** A key, and the number of records of the list that are newer than the key or equal to it. */
interface Place extends Key {
  offset: number
}

/** Maximum number of index entries that one statement reads. */
const STRIDE = 1_000
const KEPT_LISTS = 64
/** Follows the key of a list that leaves out expired records. */
const EXPIRED = ' expired'

/** Live records of a list. Expired records count as gone before their removal. */
interface Live {
  expired: number
  now: number
}

/** The cached positions of one list, and its total. Adding or removing a live record updates both. */
class KnownPlaces {
  readonly live: Live
  /** Sorted by offset. */
  readonly places: Place[] = []
  /** Null until counted. */
  total: number | null = null

  constructor(live: Live) {
    this.live = live
  }

  before(offset: number): Place | null {
    return this.places.findLast(place => place.offset <= offset) ?? null
  }

  after(offset: number): Place | null {
    return this.places.find(place => place.offset > offset) ?? null
  }

  add(place: Place): void {
    const next = this.places.findIndex(({ offset }) => offset >= place.offset)
    if (next === -1) this.places.push(place)
    else if (this.places[next]?.offset !== place.offset) this.places.splice(next, 0, place)
  }

  /** Updates the positions after a record was added (1) or removed (-1). */
  shift(key: Key, by: 1 | -1): void {
    if (this.total !== null) this.total += by
    for (const place of this.places) {
      const isNewer = key.createdAt > place.createdAt || (key.createdAt === place.createdAt && key.id >= place.id)
      if (isNewer) place.offset += by
    }
  }
}

interface Statements {
  /** Reads older keys, newest first. */
  older: Statement<SqlValue[], Key>
  /** Reads newer keys and the given key, oldest first. */
  newer: Statement<SqlValue[], Key>
  rows: Statement<SqlValue[], ListedRecord>
}

/**
 * Reads pages of an account's records by offset, in strides from the nearest cached position. Other work can run
 * between two strides.
 * The end of each stride becomes a cached position.
 */
export class RecordPages {
  readonly #records: RecordTable
  readonly #all: Statements
  readonly #expiring: Statements
  readonly #content: Statements
  readonly #expiringContent: Statements
  readonly #known = new Map<string, KnownPlaces>()

  constructor(db: Database, records: RecordTable) {
    this.#records = records
    this.#all = prepare(db, 'records_by_account', '')
    this.#expiring = prepare(db, 'records_expiring', 'AND expires_at IS NOT NULL')
    this.#content = prepare(db, 'records_by_content', 'AND multihash = ?')
    this.#expiringContent = prepare(db, 'records_by_content', 'AND multihash = ? AND expires_at IS NOT NULL')
  }

  /** Called immediately after the commit. */
  added(record: RecordRow): void {
    this.#shift(record, 1)
  }

  /** Called immediately after the commit. */
  removed(record: RecordRow): void {
    this.#shift(record, -1)
  }

  async page(filter: RecordFilter, offset: number, limit: number): Promise<{ rows: ListedRecord[]; total: number }> {
    let counts = this.#records.counts(filter.accountId, filter.now)
    const live = { expired: counts.expired, now: filter.now }
    const list = new List(filter, this.#statementsOf(filter), this.#placesOf(filter, live))
    for (;;) {
      const total = filter.multihash === null ? totalOf(filter, counts) : list.known.total
      if (total === null) list.countOn()
      else if (offset >= total) return { rows: [], total }
      else if (list.isNear(offset)) return { rows: list.rows(offset, limit), total }
      // If records were removed during the count, no row may be left to step over. The page is then near enough to read.
      else if (!list.stride(offset, total)) return { rows: list.rows(offset, limit), total }
      if (turnSpent()) await nextTurn()
      counts = this.#records.counts(filter.accountId, filter.now)
    }
  }

  walk(filter: RecordFilter, { after, limit }: PageRequest): Page<ListedRecord> {
    const from = after === null ? NEWEST : keyOfText(after)
    const { accountId, multihash, now } = filter
    const of = [accountId, ...(multihash === null ? [] : [multihash]), from.createdAt, from.id, now]
    const rows = this.#statementsOf(filter).rows.all(...of, limit + 1, 0)
    const last = rows.length > limit ? rows[limit - 1] : undefined
    return { rows: rows.slice(0, limit), next: last === undefined ? null : `${last.createdAt} ${last.id}` }
  }

  #statementsOf({ multihash, hasExpiration }: RecordFilter): Statements {
    if (multihash === null) return hasExpiration ? this.#expiring : this.#all
    return hasExpiration ? this.#expiringContent : this.#content
  }

  /**
   * Returns the cached positions of a list. Nothing notifies this cache when a record expires. So a list with expired
   * records has another cache entry, which is valid only for their current number.
   */
  #placesOf(filter: RecordFilter, live: Live): KnownPlaces {
    const key = keyOf(filter.accountId, filter.multihash, filter.hasExpiration) + (live.expired > 0 ? EXPIRED : '')
    const cached = this.#known.get(key)
    const known = cached?.live.expired === live.expired ? cached : new KnownPlaces(live)
    this.#known.delete(key)
    this.#known.set(key, known)
    const [oldest] = this.#known.keys()
    if (this.#known.size > KEPT_LISTS && oldest !== undefined) this.#known.delete(oldest)
    return known
  }

  #shift(record: RecordRow, by: 1 | -1): void {
    const { accountId, expiresAt } = record
    const start = `${accountId} `
    for (const [key, known] of this.#known) {
      const isApart = key.startsWith(start) && key.endsWith(EXPIRED)
      if (isApart && expiresAt !== null && expiresAt <= known.live.now) this.#known.delete(key)
    }
    for (const multihash of [null, record.multihash]) {
      for (const hasExpiration of expiresAt === null ? [false] : [false, true]) {
        const key = keyOf(accountId, multihash, hasExpiration)
        for (const list of [key, key + EXPIRED]) this.#known.get(list)?.shift(record, by)
      }
    }
  }
}

function totalOf({ hasExpiration }: RecordFilter, counts: AccountUsage & { expired: number }): number {
  return (hasExpiration ? counts.expiringPins : counts.pins) - counts.expired
}

class List {
  readonly known: KnownPlaces
  readonly #filter: RecordFilter
  readonly #statements: Statements

  constructor(filter: RecordFilter, statements: Statements, known: KnownPlaces) {
    this.#filter = filter
    this.#statements = statements
    this.known = known
  }

  isNear(offset: number): boolean {
    return offset - (this.known.before(offset)?.offset ?? 0) < STRIDE
  }

  rows(offset: number, limit: number): ListedRecord[] {
    const from = this.known.before(offset) ?? NEWEST
    const skipped = offset - from.offset
    return this.#statements.rows.all(...this.#of(from), limit, skipped)
  }

  /** Counts one stride of records after the last cached position. */
  countOn(): void {
    const from = this.known.places.at(-1) ?? NEWEST
    const keys = this.#strideFrom('older', from)
    this.#remember(from.offset + keys.length, keys.at(-1))
    if (keys.length < STRIDE) this.known.total = from.offset + keys.length
  }

  /** Reads a stride from the nearest cached position towards an offset. Returns whether the position moved nearer. */
  stride(offset: number, total: number): boolean {
    const below = this.known.before(offset) ?? NEWEST
    const above = this.known.after(offset) ?? { ...OLDEST, offset: total }
    if (offset - below.offset <= above.offset - offset) {
      const keys = this.#strideFrom('older', below)
      this.#remember(below.offset + keys.length, keys.at(-1))
      return keys.length > 0
    }
    const keys = this.#strideFrom('newer', above)
    // The stride begins with the key of the position `above` itself.
    this.#remember(above.offset - keys.length + 1, keys.at(-1))
    return keys.length > 1
  }

  #strideFrom(direction: 'older' | 'newer', from: Key): Key[] {
    return this.#statements[direction].all(...this.#of(from), STRIDE)
  }

  #of(from: Key): SqlValue[] {
    const { accountId, multihash, now } = this.#filter
    return [accountId, ...(multihash === null ? [] : [multihash]), from.createdAt, from.id, now]
  }

  #remember(offset: number, key: Key | undefined): void {
    if (key !== undefined) this.known.add({ ...key, offset })
  }
}

const NEWEST: Place = { createdAt: Number.MAX_SAFE_INTEGER, id: '', offset: 0 }
const OLDEST: Key = { createdAt: -1, id: '' }

function keyOfText(text: string): Key {
  const [createdAt = '', id = ''] = text.split(' ')
  return { createdAt: Number(createdAt), id }
}

function prepare(db: Database, index: string, condition: string): Statements {
  const from = `FROM records INDEXED BY ${index} WHERE account_id = ? ${condition}`
  const newestFirst = 'ORDER BY created_at DESC, id DESC'
  const key = 'SELECT created_at AS createdAt, id'
  return {
    older: db.prepare(`${key} ${from} AND (created_at, id) < (?, ?) AND ${IS_LIVE} ${newestFirst} LIMIT ?`),
    newer: db.prepare(`${key} ${from} AND (created_at, id) >= (?, ?) AND ${IS_LIVE} ORDER BY created_at, id LIMIT ?`),
    rows: db.prepare(`
      SELECT ${LISTED_COLUMNS} ${from} AND (created_at, id) < (?, ?) AND ${IS_LIVE} ${newestFirst} LIMIT ? OFFSET ?`),
  }
}

function keyOf(accountId: string, multihash: Uint8Array | null, hasExpiration: boolean): string {
  return `${accountId} ${multihash === null ? '' : Buffer.from(multihash).toString('hex')} ${hasExpiration}`
}
