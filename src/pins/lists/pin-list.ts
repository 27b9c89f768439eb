import type { Files } from '../../catalogue/listed-files.ts'
import type { Page } from '../../catalogue/page.ts'
import type { ListedRecord, RecordFilter, RecordRow, Records } from '../../catalogue/records.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { cidOf, identityOf, parseCid } from '../../ipld/cid.ts'
import type { PinTargets } from '../pin-targets.ts'
import type { ListItem, ListPage, ListQuery } from '../pin-types.ts'
import { presentRecord } from '../present-record.ts'
import { recordFilterOf, searchOf } from './list-search.ts'
import type { SearchRoom } from './search-room.ts'
import { MOST_SORTED, type SortedList, SortedLists, sortedOrder } from './sorted-list.ts'

const AT_ONCE = 500
/** A shorter page without a search is read at once. */
const SHORT_PAGE = 100
/** Rows with much metadata that need as much memory as the largest sorted list. One list at a time is sorted. */
const SORTED_ROWS = MOST_SORTED / 8

type Slice = Pick<ListPage, 'items' | 'total' | 'totalIsLowerBound'>

export interface PinListParts {
  targets: PinTargets
  catalogue: { records: Records; files: Files }
  clock: Clock
  /** Bounds the searches and the long pages at once. */
  room: SearchRoom
}

/** Lists an account's records, or the files below one of its directories. */
export class PinList {
  readonly #parts: PinListParts
  readonly #sorted: SortedLists

  constructor(parts: PinListParts) {
    this.#parts = parts
    this.#sorted = new SortedLists(parts.catalogue.records)
  }

  /** @throws HoldfastError `VALIDATION` for an invalid filter, `INVALID_CID` for an invalid CID */
  async list(query: ListQuery): Promise<ListPage> {
    const { account, plan } = await this.#parts.targets.requester(query.account)
    const page = positive('page', query.page ?? 1)
    const limit = Math.min(positive('limit', query.limit ?? plan.pageLimit.default), plan.pageLimit.max)
    const offset = (page - 1) * limit
    const { parentCid } = query
    const { items, total, totalIsLowerBound } =
      parentCid === undefined
        ? await this.#recordSlice(account.id, query, offset, limit)
        : await this.#inRoom(account.id, limit, () => this.#fileSlice(account.id, query, parentCid, offset, limit))
    const totals = { total, totalPages: Math.ceil(total / limit), ...(totalIsLowerBound && { totalIsLowerBound }) }
    return { items, page, limit, ...totals }
  }

  /** Throws the errors that {@link PinList.list} throws. */
  async *all(query: ListQuery): AsyncGenerator<ListItem, void, undefined> {
    if (query.parentCid !== undefined) {
      for (let page = 1, last = 1; page <= last; page++) {
        const { items, totalPages } = await this.list({ ...query, page, limit: undefined })
        yield* items
        last = totalPages
      }
      return
    }
    const { account } = await this.#parts.targets.requester(query.account)
    const order = sortedOrder(query.sort)
    if (order !== null) {
      const filter = this.#filterOf(account.id, query)
      const read = (): Promise<SortedList> => this.#sorted.read(filter, order)
      const { rows, whole } = await this.#parts.room.hold(account.id, SORTED_ROWS, read)
      for (const row of rows) yield itemOf(await whole(row))
      return
    }
    let after: string | null = null
    do {
      const filter = this.#filterOf(account.id, query)
      const walk = (): Promise<Page<ListedRecord>> =>
        this.#parts.catalogue.records.walk(filter, { after, limit: AT_ONCE })
      const page: Page<ListedRecord> = await this.#parts.room.hold(account.id, AT_ONCE, walk)
      for (const row of page.rows) yield itemOf(row)
      after = page.next
    } while (after !== null)
  }

  #filterOf(accountId: string, query: ListQuery): RecordFilter {
    return recordFilterOf(accountId, query, this.#parts.clock.now())
  }

  async #recordSlice(accountId: string, query: ListQuery, offset: number, limit: number): Promise<Slice> {
    const { catalogue, room } = this.#parts
    const filter = this.#filterOf(accountId, query)
    const order = sortedOrder(query.sort)
    if (order !== null) {
      return room.hold(accountId, SORTED_ROWS + limit, async () => {
        const { rows, whole } = await this.#sorted.read(filter, order)
        const shown = await Promise.all(rows.slice(offset, offset + limit).map(whole))
        return { items: shown.map(itemOf), total: rows.length }
      })
    }
    const read = async (): Promise<Slice> => {
      const { rows, ...totals } = await catalogue.records.page(filter, offset, limit)
      return { items: rows.map(itemOf), ...totals }
    }
    return filter.search === undefined ? this.#inRoom(accountId, limit, read) : room.hold(accountId, limit, read)
  }

  #inRoom(accountId: string, limit: number, read: () => Promise<Slice>): Promise<Slice> {
    return limit <= SHORT_PAGE ? read() : this.#parts.room.hold(accountId, limit, read)
  }

  async #fileSlice(
    accountId: string,
    query: ListQuery,
    parentCid: string,
    offset: number,
    limit: number,
  ): Promise<Slice> {
    const dag = identityOf(parseCid(parentCid, 'parentCid'))
    if (searchOf(query) !== undefined || sortedOrder(query.sort) !== null) {
      throw new HoldfastError('VALIDATION', 'parentCid goes with cid and hasExpiration only')
    }
    const parent = await this.#parts.catalogue.records.newestOf({
      accountId,
      dag,
      hasExpiration: query.hasExpiration === true,
      now: this.#parts.clock.now(),
    })
    if (parent === undefined || parent.rootId === null) return { items: [], total: 0 }
    const { rootId } = parent
    if (query.cid === undefined) {
      const total = (await this.#parts.catalogue.files.content(rootId))?.fileCount ?? 0
      const files = offset < total ? await this.#parts.catalogue.files.page(rootId, offset, limit) : []
      return { items: files.map(file => fileItem(parent, parentCid, file)), total }
    }
    const multihash = parseCid(query.cid).multihash.bytes
    const { files, total } = await this.#parts.catalogue.files.pageOf(rootId, multihash, offset, limit)
    return { items: files.map(file => fileItem(parent, parentCid, file)), total }
  }
}

function itemOf(row: ListedRecord): ListItem {
  return { ...presentRecord(row), parentCid: null, path: null }
}

/** Returns a file of a directory as a row of a list. It has no record, so its status and expiry are the directory's. */
function fileItem(
  parent: RecordRow,
  parentCid: string,
  file: { path: string; codec: number; multihash: Uint8Array; size: number },
): ListItem {
  return {
    ...presentRecord(parent),
    cid: cidOf(file).toString(),
    type: 'file',
    name: file.path.slice(file.path.lastIndexOf('/') + 1),
    originalName: null,
    customName: null,
    size: file.size,
    parentCid,
    path: file.path,
  }
}

function positive(field: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new HoldfastError('VALIDATION', `${field} must be a positive integer`)
}
