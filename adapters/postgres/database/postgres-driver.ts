import {
  type CatalogueDriver,
  hasUnkept,
  own,
  paramOf,
  type Rule,
  run,
  type WriteOptions,
} from '../../../src/catalogue/rules/driver.ts'
import type { RuleStatement } from '../../../src/catalogue/rules/statement.ts'
import type { Postgres } from './postgres.ts'
import type { Sql, SqlParam } from './sql.ts'

const NOTHING = { first: null, all: [], run: 0 }

/** Runs catalogue rules. A transaction that collides with another one starts again. */
export class PostgresDriver implements CatalogueDriver {
  readonly #database: Postgres

  constructor(database: Postgres) {
    this.#database = database
  }

  first<T>(statement: RuleStatement<T>, params: object = {}): Promise<T | null> {
    return answer(this.#database.reading, 'first', statement, params) as Promise<T | null>
  }

  all<T>(statement: RuleStatement<T>, params: object = {}): Promise<T[]> {
    return answer(this.#database.reading, 'all', statement, params) as Promise<T[]>
  }

  some<T>(statement: RuleStatement<T>, params: object = {}): Promise<T[]> {
    return this.all(statement, params)
  }

  read<T>(rule: Rule<T>): Promise<T> {
    return runRule(rule, this.#database.reading)
  }

  run(statement: RuleStatement, params: object): Promise<number> {
    return this.#database.transaction(sql => runRule(run(statement, params), sql))
  }

  transaction<T>(make: () => Rule<T>, { lane }: WriteOptions<T> = {}): Promise<T> {
    return this.#database.transaction(sql => runRule(make(), sql), lane ?? null)
  }
}

/** Runs a rule, within the transaction of `sql` if it has one. Otherwise each statement runs by itself. */
export async function runRule<T>(rule: Rule<T>, sql: Sql): Promise<T> {
  let next = rule.next()
  while (next.done !== true) {
    const step = next.value
    const result = typeof step === 'function' ? step(sql) : answer(sql, step.want, step.statement, step.params)
    next = rule.next(await result)
  }
  return next.value
}

export function ownStep<T>(work: (sql: Sql) => Promise<T>): Rule<T> {
  return own(connection => work(connection as Sql))
}

async function answer(sql: Sql, want: keyof Sql, statement: RuleStatement, params: object): Promise<unknown> {
  const { text, names } = statement.postgres
  const values = names.map(name => toSql(paramOf(params, name)))
  if (hasUnkept(statement, values)) return NOTHING[want]
  const result = await sql[want](text, values)
  return result === undefined ? null : result
}

function toSql(value: unknown): SqlParam {
  const isPlain = typeof value !== 'object' || value === null || value instanceof Uint8Array || Array.isArray(value)
  return isPlain ? (value as SqlParam) : JSON.stringify(value)
}
