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
