/** Which part of a list is wanted. */
export interface PageRequest {
  /** `next` of the page before; null for the first. */
  after: string | null
  /** Rows at most. */
  limit: number
}

/** Part of a list. What is added or removed between two pages neither repeats nor hides another row. */
export interface Page<Row> {
  rows: Row[]
  /** What the next page begins after, meaningful to the store alone; null at the end. */
  next: string | null
}
