/** What a statement may be given. Times and sizes are numbers, and columns of them BIGINT. */
export type SqlParam =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | ReadonlyArray<string | number | null | Uint8Array>

/** What statements are sent by: a connection in a transaction, or any one for a statement alone. */
export interface Sql {
  all<Row>(text: string, params?: readonly SqlParam[]): Promise<Row[]>
  first<Row>(text: string, params?: readonly SqlParam[]): Promise<Row | undefined>
  /** Returns how many rows were changed. */
  run(text: string, params?: readonly SqlParam[]): Promise<number>
}
