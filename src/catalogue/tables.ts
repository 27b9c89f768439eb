import type { RuleStatement } from './rules/statement.ts'

/** A table of a catalogue, as the room that owns it declares it. */
export interface CatalogueTable {
  readonly name: string
  /** The database that has the table. Default: both. */
  readonly only?: 'sqlite' | 'postgres'
  /** Column with the account of a row. Default: none. */
  readonly account?: string
  /** Rows that end in steps while their account is removed. Default: a trigger, another rule, or their age ends them. */
  readonly purge?: {
    /** Made by `purgeOf`. */
    rows: RuleStatement
    /** Most rows of one step. Default: as many as the step has. */
    most?: number
  }
  /** Copy to PostgreSQL. Default: the table stays, because its rows belong to one data directory or are derived. */
  readonly move?: TableMove
  /** Secrets that only the data key opens. Default: none. */
  readonly sealed?: SealedRows
  /**
   * Column that counts the changes of records that the feature still has to handle. Changes above a limit are dropped, so work
   * that changes many records of an account waits until the column has fallen. Default: none.
   */
  readonly backlog?: string
}

/** A table that moves. A move copies tables in the order of their declaration, and removes their rows in reverse. */
export interface TableMove {
  /**
   * Columns, separated by commas: `<column of PostgreSQL> <its type> = <expression of SQLite>`. Default expression: the
   * column of the same name. A column without a type is only for the target's own derivations.
   */
  readonly columns: string
  /** SQL condition. Default: all rows. */
  readonly where?: string
  /** Columns of a unique key. Default: the rowid. */
  readonly key?: readonly string[]
  /** True if the rows stay in the data directory after the move, or end by a trigger. */
  readonly stays?: boolean
}

/** A table with its declared copy. */
export type CopiedTable = TableMove & { readonly name: string }

export interface SealedRows {
  /** Selects the `name` of each thing that a user loses. */
  readonly listed?: { as: keyof LostNames; names: string }
  /** Statement that deletes what can no longer be opened. */
  readonly forget: string
}

/** Names of the secrets that users lose with the data key. */
export interface LostNames {
  /** Emails of accounts with a second factor. */
  secondFactors: string[]
  // feature: webhooks
  /** URLs of webhooks. */
  webhooks: string[]
  // end
}

export function lostNames(found: ReadonlyArray<[as: keyof LostNames, rows: Array<{ name: string }>]>): LostNames {
  return Object.fromEntries(found.map(([as, rows]) => [as, rows.map(({ name }) => name)])) as unknown as LostNames
}

/** Returns the tables that move. */
export function movedTables(tables: readonly CatalogueTable[]): CopiedTable[] {
  return tables.flatMap(({ name, move }) => (move === undefined ? [] : { name, ...move }))
}

/** Returns the columns of a table that moves. */
export function movedColumns({ columns }: Pick<TableMove, 'columns'>) {
  // A comma in parentheses belongs to an expression.
  return columns.split(/,(?![^()]*\))/).map(column => {
    const [target = '', ...expression] = column.split(' = ')
    const [name = '', type] = target.trim().split(' ')
    return { name, type, expression: expression.join(' = ') || name }
  })
}
