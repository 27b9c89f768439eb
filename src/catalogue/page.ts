/** A request for one page of a list. */
export interface PageRequest {
  /** `next` of the previous page; null for the first page. */
  after: string | null
  limit: number
}

/** A page of a list. Rows inserted or deleted between two requests do not repeat or hide other rows. */
export interface Page<Row> {
  rows: Row[]
  /** Opaque cursor for the next page; null at the end. */
  next: string | null
}

/** Maximum number of matches that a search counts exactly. A larger total is a lower bound. */
export const EXACT_MATCHES = 10_000

/** A page selected by its offset, and the number of rows of the whole list. */
export interface NumberedPage<Row> {
  rows: Row[]
  total: number
  /** True if the list may have more than `total` rows. `total` then exceeds the offset of the page's end. */
  totalIsLowerBound?: true
}
