import { HoldfastError } from '../../domain/errors.ts'
import { isText, UNKEPT } from '../../domain/text.ts'
import type { RuleStatement } from './statement.ts'

/**
 * A statement that a rule yields. `want` selects its result: the first row, all rows, or the number of changed rows.
 */
export interface RuleStep {
  readonly want: 'first' | 'all' | 'run'
  readonly statement: RuleStatement
  readonly params: object
}

/**
 * A step that runs code of one database instead of a statement.
 *
 * @param connection the PostgreSQL connection; null on SQLite, which does not await the step
 */
export type OwnStep = (connection: unknown) => unknown

/**
 * A rule of several statements. The driver executes each yielded step and passes the result back.
 * A rule has no side effects outside the database, because a driver may run it twice.
 */
export type Rule<T> = Generator<RuleStep | OwnStep, T, unknown>

export interface WriteOptions<T> {
  /** If false, the call may resolve before the write is durable. Default true. */
  durable?: boolean
  /** If true, other writes in the queue run before this write. Default false. */
  patient?: boolean
  /** Called on SQLite with the result, before any reader can see the write. */
  committed?: (result: T) => void
  /**
   * Id of the account that the rule locks first. Rules of the same account run one after the other on one connection.
   */
  lane?: string | undefined
}

/**
 * Runs rules on a database. The methods `first`, `all`, `some` and `read` run outside a transaction.
 * Fields of `params` that the statement does not use are ignored.
 */
export interface CatalogueDriver {
  first<Row>(statement: RuleStatement<Row>, params?: object): Promise<Row | null>
  all<Row>(statement: RuleStatement<Row>, params?: object): Promise<Row[]>
  /** Returns the first rows. SQLite returns fewer, but at least one, when they have held the event loop for a turn. */
  some<Row>(statement: RuleStatement<Row>, params?: object): Promise<Row[]>
  read<T>(rule: Rule<T>): Promise<T>
  /** Runs one statement in its own transaction. Returns the number of changed rows. */
  run(statement: RuleStatement, params: object, options?: WriteOptions<number>): Promise<number>
  /** @param make creates the rule for each attempt */
  transaction<T>(make: () => Rule<T>, options?: WriteOptions<T>): Promise<T>
}

export function* first<Row>(statement: RuleStatement<Row>, params: object = {}): Rule<Row | null> {
  return (yield { want: 'first', statement, params }) as Row | null
}

export function* all<Row>(statement: RuleStatement<Row>, params: object = {}): Rule<Row[]> {
  return (yield { want: 'all', statement, params }) as Row[]
}

export function* run(statement: RuleStatement, params: object = {}): Rule<number> {
  return (yield { want: 'run', statement, params }) as number
}

/** Runs code that only one database has, as a step of a rule. */
export function* own<T>(step: (connection: unknown) => T | Promise<T>): Rule<T> {
  return (yield step) as T
}

/** @throws HoldfastError `INTERNAL_ERROR` if the parameter is undefined, because `pg` would send undefined as null */
export function paramOf(params: object, name: string): unknown {
  const value = (params as Record<string, unknown>)[name]
  if (value === undefined) throw new HoldfastError('INTERNAL_ERROR', `a statement lacks the parameter ${name}`)
  return value
}

/**
 * Returns whether any parameter is a text that a catalogue cannot store. A read with such a text finds nothing.
 *
 * @throws HoldfastError `VALIDATION` if the statement stores its parameters
 */
export function hasUnkept({ stores }: RuleStatement, values: readonly unknown[]): boolean {
  let has = false
  for (const value of values) has ||= typeof value === 'string' && !isText(value)
  if (has && stores) throw new HoldfastError('VALIDATION', `a text of the catalogue ${UNKEPT}`)
  return has
}
