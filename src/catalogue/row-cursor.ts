import type { Page } from './page.ts'

/** Where a row stands in a list by age. */
export interface RowPlace {
  createdAt: number
  rowid: number
}

/** Before the first row. */
const START: RowPlace = { createdAt: Number.MIN_SAFE_INTEGER, rowid: Number.MIN_SAFE_INTEGER }

/** The place that a page begins after. One that no page has given is the start. */
export function placeAfter(cursor: string | null): RowPlace {
  const match = cursor === null ? null : /^(-?\d{1,16}):(\d{1,16})$/.exec(cursor)
  return match === null ? START : { createdAt: Number(match[1]), rowid: Number(match[2]) }
}

/** A page of the rows that were read, which are `limit` and one more unless they are the last. */
export function pageOf<Raw extends RowPlace, Row>(
  raw: readonly Raw[],
  limit: number,
  toRow: (raw: Raw) => Row,
): Page<Row> {
  const shown = raw.slice(0, limit)
  const last = raw.length > limit ? shown.at(-1) : undefined
  return { rows: shown.map(toRow), next: last === undefined ? null : `${last.createdAt}:${last.rowid}` }
}
