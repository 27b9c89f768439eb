/** A parameter of a statement. Numbers, such as times and sizes, are stored as BIGINT. */
export type SqlParam =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | ReadonlyArray<string | number | null | Uint8Array>

/** Runs SQL statements, either all in one transaction or each by itself on any free connection. */
export interface Sql {
  all<Row>(text: string, params?: readonly SqlParam[]): Promise<Row[]>
  first<Row>(text: string, params?: readonly SqlParam[]): Promise<Row | undefined>
  /** Returns the number of changed rows. */
  run(text: string, params?: readonly SqlParam[]): Promise<number>
}
