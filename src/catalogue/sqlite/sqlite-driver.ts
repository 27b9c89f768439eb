import { HoldfastError } from '../../domain/errors.ts'
import type { Database, SqlValue } from '../../storage/database.ts'
import { rowsOfTurn } from '../../storage/rows-of-turn.ts'
import type { WriteQueue } from '../../storage/write-queue.ts'
import {
  type CatalogueDriver,
  hasUnkept,
  type OwnStep,
  paramOf,
  type Rule,
  type RuleStep,
  type WriteOptions,
} from '../rules/driver.ts'
import type { RuleStatement } from '../rules/statement.ts'

type Row = Record<string, unknown>

interface Prepared {
  first(params: object): Row | null
  all(params: object): Row[]
  some(params: object): Row[]
  readonly run: (params: object) => number
}

/** Runs the statements of rules synchronously, within the current transaction if there is one. */
export class SqliteStatements {
  readonly #db: Database
  readonly #prepared = new Map<RuleStatement, Prepared>()

  constructor(db: Database) {
    this.#db = db
  }

  first<T>(statement: RuleStatement<T>, params: object = {}): T | null {
    return this.#of(statement).first(params) as T | null
  }

  all<T>(statement: RuleStatement<T>, params: object = {}): T[] {
    return this.#of(statement).all(params) as T[]
  }

  some<T>(statement: RuleStatement<T>, params: object = {}): T[] {
    return this.#of(statement).some(params) as T[]
  }

  run(statement: RuleStatement, params: object): number {
    return this.#of(statement).run(params)
  }

  carryOut<T>(rule: Rule<T>): T {
    let next = rule.next()
    while (next.done !== true) {
      next = rule.next(this.#answer(next.value))
    }
    return next.value
  }

  #answer(step: RuleStep | OwnStep): unknown {
    return typeof step === 'function' ? step(null) : this.#of(step.statement)[step.want](step.params)
  }

  #of(statement: RuleStatement): Prepared {
    let prepared = this.#prepared.get(statement)
    if (prepared === undefined) {
      prepared = prepare(this.#db, statement)
      this.#prepared.set(statement, prepared)
    }
    return prepared
  }
}

/** Runs rules on `holdfast.db`. Writes run through the queue, which may run a rule twice. */
export class SqliteDriver implements CatalogueDriver {
  readonly #statements: SqliteStatements
  readonly #writes: WriteQueue

  constructor(statements: SqliteStatements, writes: WriteQueue) {
    this.#statements = statements
    this.#writes = writes
  }

  async first<T>(statement: RuleStatement<T>, params: object = {}): Promise<T | null> {
    return this.#statements.first(statement, params)
  }

  async all<T>(statement: RuleStatement<T>, params: object = {}): Promise<T[]> {
    return this.#statements.all(statement, params)
  }

  async some<T>(statement: RuleStatement<T>, params: object = {}): Promise<T[]> {
    return this.#statements.some(statement, params)
  }

  async read<T>(rule: Rule<T>): Promise<T> {
    return this.#statements.carryOut(rule)
  }

  run(statement: RuleStatement, params: object, options?: WriteOptions<number>): Promise<number> {
    return this.#writes.run(() => this.#statements.run(statement, params), { durable: true, ...options })
  }

  transaction<T>(make: () => Rule<T>, options?: WriteOptions<T>): Promise<T> {
    return this.#writes.run(() => this.#statements.carryOut(make()), { durable: true, ...options })
  }
}

function prepare(db: Database, rule: RuleStatement): Prepared {
  const { text, names } = rule.sqlite
  // An empty text is a lock that only PostgreSQL needs.
  if (text === '') return { first: () => null, all: () => [], some: () => [], run: () => 0 }
  const statement = db.prepare<SqlValue[], Row>(text)
  const bound = (params: object): SqlValue[] => {
    const values: SqlValue[] = []
    for (const name of names) values.push(toSql(paramOf(params, name)))
    if (rule.stores) hasUnkept(rule, values)
    return values
  }
  const decode = (row: Row): Row => {
    for (const [field, kind] of rule.encoded) row[field] = kind === 'flag' ? row[field] !== 0 : parsed(row[field])
    return row
  }
  return {
    first: params => {
      const row = statement.get(...bound(params))
      return row === undefined ? null : decode(row)
    },
    all: params => statement.all(...bound(params)).map(decode),
    some: params => rowsOfTurn(statement.iterate(...bound(params))).map(decode),
    run: params => {
      const values = bound(params)
      try {
        return statement.run(...values).changes
      } catch (error) {
        if (!isConflict(error)) throw error
        throw new HoldfastError('INTERNAL_ERROR', 'the catalogue has failed', { cause: error })
      }
    },
  }
}

/** Returns whether an error is a violated constraint, such as a duplicate id. */
function isConflict(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_CONSTRAINT')
}

function toSql(value: unknown): SqlValue {
  if (typeof value === 'boolean') return value ? 1 : 0
  const isPlain = typeof value !== 'object' || value === null || value instanceof Uint8Array
  return isPlain ? (value as SqlValue) : JSON.stringify(value)
}

function parsed(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value
}
