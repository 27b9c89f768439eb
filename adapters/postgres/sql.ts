/** A parameter of a statement. Times and sizes are numbers, stored in columns of the type BIGINT. */
export type SqlParam =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | ReadonlyArray<string | number | null | Uint8Array>

/**
 * Runs SQL statements. Either all statements belong to one transaction, or each runs by itself on any free connection.
 */
export interface Sql {
  all<Row>(text: string, params?: readonly SqlParam[]): Promise<Row[]>
  first<Row>(text: string, params?: readonly SqlParam[]): Promise<Row | undefined>
  /** Returns the number of changed rows. */
  run(text: string, params?: readonly SqlParam[]): Promise<number>
}
