import { HoldfastError } from '../../domain/errors.ts'
import { isText, UNKEPT } from '../../domain/text.ts'
import type { RuleStatement } from './statement.ts'

/** A statement that a rule yields, with its named parameters and the part of the answer that it needs. */
export interface RuleStep {
  readonly want: 'first' | 'all' | 'run'
  readonly statement: RuleStatement
  readonly params: object
}

/**
 * A step that one database does in its own way, in the same transaction.
 *
 * @param connection the PostgreSQL connection of the transaction, which awaits the step; SQLite passes null
 */
export type OwnStep = (connection: unknown) => unknown

/**
 * A rule of several statements, as a generator. The driver answers each step: SQLite synchronously, PostgreSQL after a
 * round trip. Rules change nothing but the database, because a driver may run them twice.
 */
export type Rule<T> = Generator<RuleStep | OwnStep, T, unknown>

/** Options for committing a write. */
export interface WriteOptions<T> {
  /** If false, the call may resolve before the write is durable. Default true. */
  durable?: boolean
  /** If true, other writes in the queue of the database go first. Default false. */
  patient?: boolean
  /** Called with the result before any reader can see the write. Only a database that one process owns calls it. */
  committed?: (result: T) => void
  /** The account that the rule locks first. Rules of one account take turns on one connection. */
  lane?: string | undefined
}

/** Runs rules on a database. Parameters are fields of an object; fields that a statement does not name are ignored. */
export interface CatalogueDriver {
  /** Reads the first row outside a transaction; null if there is none. */
  first<Row>(statement: RuleStatement<Row>, params?: object): Promise<Row | null>
  /** Reads all rows outside a transaction. */
  all<Row>(statement: RuleStatement<Row>, params?: object): Promise<Row[]>
  /** Runs a read-only rule outside a transaction. */
  read<T>(rule: Rule<T>): Promise<T>
  /** Runs one statement in its own transaction. Returns the number of changed rows. */
  run(statement: RuleStatement, params: object, options?: WriteOptions<number>): Promise<number>
  /** Runs a rule in one transaction. @param make called for each attempt */
  transaction<T>(make: () => Rule<T>, options?: WriteOptions<T>): Promise<T>
}

/** Reads the first row within a rule; null if there is none. */
export function* first<Row>(statement: RuleStatement<Row>, params: object = {}): Rule<Row | null> {
  return (yield { want: 'first', statement, params }) as Row | null
}

/** Reads all rows within a rule. */
export function* all<Row>(statement: RuleStatement<Row>, params: object = {}): Rule<Row[]> {
  return (yield { want: 'all', statement, params }) as Row[]
}

/** Runs a statement within a rule. Returns the number of changed rows. */
export function* run(statement: RuleStatement, params: object = {}): Rule<number> {
  return (yield { want: 'run', statement, params }) as number
}

/** Runs a step that only one database has, within a rule. */
export function* own<T>(step: (connection: unknown) => T | Promise<T>): Rule<T> {
  return (yield step) as T
}

/** Returns a parameter. @throws HoldfastError `INTERNAL_ERROR` if it is undefined, which `pg` would send as null */
export function paramOf(params: object, name: string): unknown {
  const value = (params as Record<string, unknown>)[name]
  if (value === undefined) throw new HoldfastError('INTERNAL_ERROR', `a statement lacks the parameter ${name}`)
  return value
}

/**
 * Returns whether a parameter is a text that a catalogue cannot store. No row has such a text, so a read finds nothing.
 *
 * @throws HoldfastError `VALIDATION` if the statement stores its parameters
 */
export function hasUnkept({ stores }: RuleStatement, values: readonly unknown[]): boolean {
  let has = false
  for (const value of values) has ||= typeof value === 'string' && !isText(value)
  if (has && stores) throw new HoldfastError('VALIDATION', `a text of the catalogue ${UNKEPT}`)
  return has
}
