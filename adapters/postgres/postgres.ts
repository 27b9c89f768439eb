import type { Pool, PoolClient, PoolConfig, QueryConfig, QueryResult } from 'pg'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { Sql, SqlParam } from './sql.ts'
import { isLost, isToRepeat, outcomeUnknown, StatementFailure, shownFailure } from './statement-failure.ts'

/** How a transaction that met others is tried in all. */
const MOST_ATTEMPTS = 8
const MOST_CONNECTIONS = 16
/** How long a connection is waited for, and an answer; in milliseconds. */
const CONNECT_MS = 15_000
const ANSWER_MS = 30_000
/**
 * After how much silence, in milliseconds, the database ends a transaction: a node that stands still in the middle of one
 * must not keep what it has locked from all others.
 */
const SILENT_MS = 5_000
/** BIGINT: times, sizes and counters, none of them past what a number holds exactly. */
const INT8 = 20

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with the parameters that libpq knows. */
  url: string
  /** Connections at most. Default 16. */
  connections?: number
  /** How long an answer is waited for, in milliseconds. Default 30,000. */
  answerMs?: number
  /** How long a transaction may be silent, in milliseconds. Default 5,000. */
  silentMs?: number
  /** Told of errors of connections that nobody is waiting for. */
  onError?: (error: Error) => void
}

/**
 * A PostgreSQL database: statements, and transactions that are repeated where they met others. `pg` is loaded here, and
 * only here, by whoever asks for such a database.
 */
export class Postgres {
  readonly #pool: Pool
  /** Statements are prepared once for each connection, by these names. */
  readonly #names = new Map<string, string>()
  #isRefused = false
  /** The last of those who wait for the same lock. */
  readonly #lanes = new Map<string, Promise<unknown>>()

  private constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Nothing is connected yet. @throws HoldfastError `CONFIG_INVALID` if the package `pg` is not installed */
  static async open(options: PostgresOptions): Promise<Postgres> {
    const { default: pg } = await loadPg()
    const {
      url,
      connections = MOST_CONNECTIONS,
      answerMs = ANSWER_MS,
      silentMs = SILENT_MS,
      onError = () => undefined,
    } = options
    const config: PoolConfig = {
      connectionString: url,
      application_name: 'holdfast',
      max: connections,
      connectionTimeoutMillis: CONNECT_MS,
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
      keepAlive: true,
      statement_timeout: answerMs,
      idle_in_transaction_session_timeout: silentMs,
      // Later than the server's own, so that it is the server that gives up, and says so.
      query_timeout: answerMs + CONNECT_MS,
      types: {
        getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
          oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
      },
    }
    const pool = new pg.Pool(config)
    pool.on('error', onError)
    // Also one that is in use tells of its end by an event, which would end the process if nobody listened.
    pool.on('connect', client => client.on('error', onError))
    return new Postgres(pool)
  }

  /** For reading: each statement for itself, on any connection. */
  readonly reading: Sql = this.#sql(<Row>(text: string, params: readonly SqlParam[]) => this.#alone<Row>(text, params))

  /** The texts of all statements that were sent so far. */
  get statements(): string[] {
    return [...this.#names.keys()]
  }

  /**
   * One statement that writes, a transaction by itself. Returns how many rows it has changed.
   *
   * @throws HoldfastError as {@link transaction}
   */
  async command(text: string, params: readonly SqlParam[] = []): Promise<number> {
    return this.transaction(sql => sql.run(text, params))
  }

  /**
   * Runs `work` in one transaction, which is durable when this resolves. Where it met others it is run again, so `work`
   * may do nothing but send statements.
   *
   * @param lane whose lock it takes first: of those who take the same one has a connection at a time, so that many
   * requests of one account leave connections to others
   * @throws HoldfastError what `work` throws; `UNAVAILABLE` if the database cannot be reached, and nothing has happened;
   * `OUTCOME_UNKNOWN` if the connection was lost while it committed
   */
  async transaction<T>(work: (sql: Sql) => Promise<T>, lane: string | null = null): Promise<T> {
    if (lane === null) return this.#repeated(work)
    const turn = (this.#lanes.get(lane) ?? Promise.resolve()).then(() => this.#repeated(work))
    const ended = turn.then(
      () => undefined,
      () => undefined,
    )
    this.#lanes.set(lane, ended)
    try {
      return await turn
    } finally {
      if (this.#lanes.get(lane) === ended) this.#lanes.delete(lane)
    }
  }

  async #repeated<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(work)
      } catch (error) {
        if (!isToRepeat(error) || attempt === MOST_ATTEMPTS) throw shownFailure(error)
      }
    }
  }

  /** A connection of its own, outside the pool's turn, until `release`; `isBroken` has it closed. */
  async connection(): Promise<PoolClient> {
    try {
      const client = await this.#pool.connect()
      this.#isRefused = false
      return client
    } catch (error) {
      this.#isRefused = true
      throw new HoldfastError('UNAVAILABLE', 'the catalogue cannot be reached now', { cause: error })
    }
  }

  /** Whether no connection was to be had when one was last asked for. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  async #attempt<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.connection()
    let isCommitting = false
    let isBroken = false
    try {
      await ask(client, 'BEGIN')
      const result = await work(this.#sql((text, params) => this.#send(client, text, params)))
      isCommitting = true
      const { command } = await ask(client, 'COMMIT')
      if (command !== 'COMMIT') throw new HoldfastError('INTERNAL_ERROR', 'a transaction went on after an error')
      return result
    } catch (error) {
      isBroken = isLost(error)
      if (isCommitting && isBroken) throw outcomeUnknown(error)
      if (!isBroken) await client.query('ROLLBACK').catch(() => (isBroken = true))
      throw error
    } finally {
      client.release(isBroken)
    }
  }

  async #alone<Row>(text: string, params: readonly SqlParam[]): Promise<{ rows: Row[]; count: number }> {
    const client = await this.connection()
    let isBroken = false
    try {
      return await this.#send<Row>(client, text, params)
    } catch (error) {
      isBroken = isLost(error)
      throw shownFailure(error)
    } finally {
      client.release(isBroken)
    }
  }

  async #send<Row>(
    client: PoolClient,
    text: string,
    params: readonly SqlParam[],
  ): Promise<{ rows: Row[]; count: number }> {
    let name = this.#names.get(text)
    if (name === undefined) {
      name = `s${this.#names.size}`
      this.#names.set(text, name)
    }
    const { rows, rowCount } = await ask(client, { name, text, values: params.map(toValue) })
    return { rows: rows as Row[], count: rowCount ?? 0 }
  }

  #sql(send: <Row>(text: string, params: readonly SqlParam[]) => Promise<{ rows: Row[]; count: number }>): Sql {
    return {
      all: async <Row>(text: string, params: readonly SqlParam[] = []) => (await send<Row>(text, params)).rows,
      first: async <Row>(text: string, params: readonly SqlParam[] = []) => (await send<Row>(text, params)).rows[0],
      run: async (text, params = []) => (await send(text, params)).count,
    }
  }
}

async function loadPg(): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (cause) {
    throw new HoldfastError('CONFIG_INVALID', 'database: a PostgreSQL database needs the package pg: npm install pg', {
      cause,
    })
  }
}

async function ask(client: PoolClient, query: string | QueryConfig): Promise<QueryResult> {
  try {
    return await client.query(query)
  } catch (error) {
    throw new StatementFailure(error)
  }
}

/** Bytes as `pg` takes them everywhere, in arrays too. */
function toValue(param: SqlParam): unknown {
  if (param instanceof Uint8Array) return Buffer.from(param.buffer, param.byteOffset, param.byteLength)
  return Array.isArray(param) ? param.map(toValue) : param
}
