import type { Page, PageRequest } from '../page.ts'
import { SEQ } from './dialect.ts'
import type { Columns } from './statement.ts'

/** The sort key of a row in a list by age. */
export interface RowPlace {
  createdAt: number
  rowid: number
}

const START: RowPlace = { createdAt: Number.MIN_SAFE_INTEGER, rowid: Number.MIN_SAFE_INTEGER }

/** Returns the sort key after which a page begins; the start of the list for an invalid cursor. */
export function placeAfter(cursor: string | null): RowPlace {
  const match = cursor === null ? null : /^(-?\d{1,16}):(\d{1,16})$/.exec(cursor)
  return match === null ? START : { createdAt: Number(match[1]), rowid: Number(match[2]) }
}

export function withPlace<Row extends { createdAt: number }>({ kinds }: Columns<Row>): Columns<Row & RowPlace> {
  return { kinds: { ...kinds, rowid: ['integer', SEQ] } } as Columns<Row & RowPlace>
}

/** @param raw up to `limit + 1` rows. The additional row shows that another page follows. */
export function pageOf<Row extends { createdAt: number }>(
  raw: ReadonlyArray<Row & RowPlace>,
  limit: number,
): Page<Row> {
  const shown = raw.slice(0, limit)
  const last = raw.length > limit ? shown.at(-1) : undefined
  const rows = shown.map(({ rowid: _, ...row }) => row as unknown as Row)
  return { rows, next: last === undefined ? null : `${last.createdAt}:${last.rowid}` }
}

/**
 * Returns a page of rows with ascending ids, newest first. The cursor is the id of the last row.
 *
 * @param read returns up to `rows` rows whose ids are less than `before`
 */
export async function newestPage<Row extends { id: number }>(
  read: (place: { before: number; rows: number }) => Promise<Row[]>,
  { after, limit }: PageRequest,
): Promise<Page<Row>> {
  const before = after !== null && /^\d{1,15}$/.test(after) ? Number(after) : Number.MAX_SAFE_INTEGER
  const found = await read({ before, rows: limit + 1 })
  const rows = found.slice(0, limit)
  return { rows, next: found.length > limit ? String(rows.at(-1)?.id) : null }
}
