import type { Page } from '../page.ts'
import { SEQ } from './dialect.ts'
import type { Columns } from './statement.ts'

/** The sort key of a row in a list that is sorted by age. */
export interface RowPlace {
  createdAt: number
  rowid: number
}

/** A sort key before the first row. */
const START: RowPlace = { createdAt: Number.MIN_SAFE_INTEGER, rowid: Number.MIN_SAFE_INTEGER }

/** Returns the sort key after which a page begins. An invalid cursor gives the start of the list. */
export function placeAfter(cursor: string | null): RowPlace {
  const match = cursor === null ? null : /^(-?\d{1,16}):(\d{1,16})$/.exec(cursor)
  return match === null ? START : { createdAt: Number(match[1]), rowid: Number(match[2]) }
}

/** Returns the columns of a row, together with its sort key. */
export function withPlace<Row extends { createdAt: number }>({ kinds }: Columns<Row>): Columns<Row & RowPlace> {
  return { kinds: { ...kinds, rowid: ['integer', SEQ] } } as Columns<Row & RowPlace>
}

/**
 * Returns a page of the given rows. The caller reads up to `limit + 1` rows. An additional row shows that another page
 * follows.
 */
export function pageOf<Row extends { createdAt: number }>(
  raw: ReadonlyArray<Row & RowPlace>,
  limit: number,
): Page<Row> {
  const shown = raw.slice(0, limit)
  const last = raw.length > limit ? shown.at(-1) : undefined
  const rows = shown.map(({ rowid: _, ...row }) => row as unknown as Row)
  return { rows, next: last === undefined ? null : `${last.createdAt}:${last.rowid}` }
}
