import { HoldfastError } from '../../domain/errors.ts'
import { isText, UNKEPT } from '../../domain/text.ts'
import type { RuleStatement } from './statement.ts'

/** A statement that a rule asks for, with its parameters by their names, and the part of the answer that it needs. */
export interface RuleStep {
  readonly want: 'first' | 'all' | 'run'
  readonly statement: RuleStatement
  readonly params: object
}

/**
 * A step that one database takes in its own way, in the same transaction.
 *
 * @param connection what the adapter of PostgreSQL sends statements by, and awaits; SQLite has none
 */
export type OwnStep = (connection: unknown) => unknown

/**
 * A rule that takes several statements. A driver answers each step: SQLite at once, PostgreSQL after a round trip. The rule
 * changes nothing but the database, since a driver may begin it again.
 */
export type Rule<T> = Generator<RuleStep | OwnStep, T, unknown>

/** How a write is committed. */
export interface WriteOptions<T> {
  /** False: resolves before the write is durable, where the database can do that. Default true. */
  durable?: boolean
  /** Lets other writes go first, where the database has a queue of them. Default false. */
  patient?: boolean
  /** Called with the result before anybody can read what was written; only by a database that one process has alone. */
  committed?: (result: T) => void
  /** The account that the rule locks first. Rules of one account take turns at one connection. */
  lane?: string | undefined
}

/** What runs rules on a database. Parameters are the fields of an object; those that a statement does not name are ignored. */
export interface CatalogueDriver {
  /** Reads one row, outside a transaction; null if there is none. */
  first<Row>(statement: RuleStatement<Row>, params?: object): Promise<Row | null>
  /** Reads rows, outside a transaction. */
  all<Row>(statement: RuleStatement<Row>, params?: object): Promise<Row[]>
  /** Runs a rule that only reads, outside a transaction. */
  read<T>(rule: Rule<T>): Promise<T>
  /** Runs one statement in a transaction of its own. Returns how many rows it changed. */
  run(statement: RuleStatement, params: object, options?: WriteOptions<number>): Promise<number>
  /** Runs a rule in one transaction. @param make called again for each attempt */
  transaction<T>(make: () => Rule<T>, options?: WriteOptions<T>): Promise<T>
}

/** Asks for the first row, within a rule; null if there is none. */
export function* first<Row>(statement: RuleStatement<Row>, params: object = {}): Rule<Row | null> {
  return (yield { want: 'first', statement, params }) as Row | null
}

/** Asks for all rows, within a rule. */
export function* all<Row>(statement: RuleStatement<Row>, params: object = {}): Rule<Row[]> {
  return (yield { want: 'all', statement, params }) as Row[]
}

/** Runs a statement within a rule. Returns how many rows it changed. */
export function* run(statement: RuleStatement, params: object = {}): Rule<number> {
  return (yield { want: 'run', statement, params }) as number
}

/** Takes a step that only one database knows, within a rule. */
export function* own<T>(step: (connection: unknown) => T | Promise<T>): Rule<T> {
  return (yield step) as T
}

/** Returns a parameter. @throws HoldfastError `INTERNAL_ERROR` if it is missing, which `pg` would take for null */
export function paramOf(params: object, name: string): unknown {
  const value = (params as Record<string, unknown>)[name]
  if (value === undefined) throw new HoldfastError('INTERNAL_ERROR', `a statement lacks its parameter ${name}`)
  return value
}

/**
 * Whether a parameter is a text that no catalogue can keep: no row has it, so a statement that looks for it finds nothing.
 *
 * @throws HoldfastError `VALIDATION` if the statement would store it
 */
export function hasUnkept({ stores }: RuleStatement, values: readonly unknown[]): boolean {
  let has = false
  for (const value of values) has ||= typeof value === 'string' && !isText(value)
  if (has && stores) throw new HoldfastError('VALIDATION', `a text of the catalogue ${UNKEPT}`)
  return has
}
