/** A parameter of a statement. Times and sizes are numbers, and BIGINT in their columns. */
export type SqlParam =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | ReadonlyArray<string | number | null | Uint8Array>

/** A connection in a transaction, or any connection for a single statement. */
export interface Sql {
  all<Row>(text: string, params?: readonly SqlParam[]): Promise<Row[]>
  first<Row>(text: string, params?: readonly SqlParam[]): Promise<Row | undefined>
  /** Returns the number of changed rows. */
  run(text: string, params?: readonly SqlParam[]): Promise<number>
}
