import type { Page } from '../../catalogue/page.ts'
import type { ListedRecord, RecordFilter, Records } from '../../catalogue/records.ts'
import { Semaphore } from '../../concurrency/capacity/semaphore.ts'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'

/** Orders that no index of the catalogue has. A minus reverses the order. */
export const SORTED_ORDERS = ['name', '-name', 'size', '-size'] as const

export type SortedOrder = (typeof SORTED_ORDERS)[number]

/** Maximum number of records, because each page reads them all. */
export const MOST_SORTED = 10_000
/** Maximum number of characters of metadata that a list keeps while it is sorted. */
export const MOST_SORTED_META = 4 * 1024 ** 2
const READ_AT_ONCE = 500

/** Returns the order if it sorts whole lists. Null for an order that the catalogue can page by itself. */
export function sortedOrder(sort: string | undefined): SortedOrder | null {
  return SORTED_ORDERS.find(order => order === sort) ?? null
}

export interface SortedList {
  /** Records without the metadata that exceeds {@link MOST_SORTED_META}. */
  rows: ListedRecord[]
  /** Reads the metadata that a row lacks. */
  whole(row: ListedRecord): Promise<ListedRecord>
}

/**
 * Sorts the records of a list by name or size. An index for each order would make every upload slower, so the records
 * are sorted in memory, one list at a time.
 */
export class SortedLists {
  readonly #records: Pick<Records, 'page' | 'walk' | 'get'>
  readonly #gate = new Semaphore(1)

  constructor(records: Pick<Records, 'page' | 'walk' | 'get'>) {
    this.#records = records
  }

  /**
   * Returns all records of a filter in this order, equal ones newest first.
   * @throws HoldfastError `VALIDATION` for more than {@link MOST_SORTED} records
   */
  async read(filter: RecordFilter, order: SortedOrder): Promise<SortedList> {
    const pass = this.#gate.enter(filter.accountId)
    try {
      await pass.entered
      const { total } = await this.#records.page(filter, 0, 1)
      if (total > MOST_SORTED) throw tooMany()
      const { rows, cut } = await this.#all(filter)
      const whole = async (row: ListedRecord): Promise<ListedRecord> =>
        cut.has(row) ? { ...row, meta: (await this.#records.get(row.id))?.meta ?? null } : row
      return { rows: rows.toSorted(comparisonOf(order)), whole }
    } finally {
      pass.leave()
    }
  }

  /** Reads all records. Those in `cut` have lost their metadata. */
  async #all(filter: RecordFilter): Promise<{ rows: ListedRecord[]; cut: ReadonlySet<ListedRecord> }> {
    const all: ListedRecord[] = []
    const cut = new Set<ListedRecord>()
    let left = MOST_SORTED_META
    let after: string | null = null
    do {
      const { rows, next }: Page<ListedRecord> = await this.#records.walk(filter, { after, limit: READ_AT_ONCE })
      for (const row of rows) {
        left -= row.meta?.length ?? 0
        if (left >= 0 || row.meta === null) {
          all.push(row)
          continue
        }
        const short = { ...row, meta: null }
        cut.add(short)
        all.push(short)
      }
      if (turnSpent()) await nextTurn()
      after = next
    } while (after !== null)
    return { rows: all, cut }
  }
}

function comparisonOf(order: SortedOrder): (a: ListedRecord, b: ListedRecord) => number {
  const sign = order.startsWith('-') ? -1 : 1
  if (order.endsWith('size')) return (a, b) => sign * (a.size - b.size)
  const names = new Map<ListedRecord, string>()
  const nameOf = (row: ListedRecord): string => {
    const folded = names.get(row) ?? (row.name ?? row.cid).toLowerCase()
    names.set(row, folded)
    return folded
  }
  return (a, b) => (nameOf(a) === nameOf(b) ? 0 : nameOf(a) < nameOf(b) ? -sign : sign)
}

function tooMany(): HoldfastError {
  const most = MOST_SORTED.toLocaleString('en')
  return new HoldfastError(
    'VALIDATION',
    `sort by name or size takes a list of at most ${most} records: narrow it, for example with q or after`,
  )
}
