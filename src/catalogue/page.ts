/** A request for one page of a list. */
export interface PageRequest {
  /** `next` of the previous page; null for the first page. */
  after: string | null
  /** Maximum number of rows. */
  limit: number
}

/** A page of a list. Inserting or deleting rows between two requests neither repeats nor hides another row. */
export interface Page<Row> {
  rows: Row[]
  /** Opaque cursor for the next page; null at the end. */
  next: string | null
}

/** Matches of a search up to which its total is exact. */
export const EXACT_MATCHES = 10_000

/** A page by number, and how many rows the whole list has. */
export interface NumberedPage<Row> {
  rows: Row[]
  total: number
  /** True if the list may be longer; `total` is beyond the end of the page then. */
  totalIsLowerBound?: true
}
