import type { Pool, PoolClient, PoolConfig, QueryConfig, QueryResult } from 'pg'
import { outageError } from '../../../src/catalogue/outages.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import type { Sql, SqlParam } from './sql.ts'
import {
  databaseAway,
  isConnectionLost,
  isOutageFailure,
  isRetryable,
  outcomeUnknown,
  StatementFailure,
  safeError,
} from './statement-failure.ts'

const MOST_ATTEMPTS = 8
const MOST_CONNECTIONS = 16
/** Timeouts for a connection from the pool, and for the answer to a statement. */
const CONNECT_MS = 15_000
const ANSWER_MS = 30_000
/** Time without a statement after which the database ends a transaction, to free the locks of a stalled node. */
const SILENT_MS = 5_000
/**
 * A plan for the length of each array would be made anew for each batch. No statement reads a whole table by the plan for
 * any values.
 */
const SETTINGS = 'SET plan_cache_mode = force_generic_plan'
/** OID of BIGINT. Its values are parsed as numbers: times, sizes and counters fit exactly. */
const INT8 = 20

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with the parameters of libpq. */
  url: string
  connections?: number
  /** Timeout for the answer to a statement. With null, statements have no limit of time. */
  answerMs?: number | null
  /** Time without a statement after which the database ends a transaction. */
  silentMs?: number
  /** Receives each lost or refused connection, and each statement that a read-only database refused. */
  onOutage?: (error: unknown) => void
}

/** A connection pool that retries transactions which collide. */
export class Postgres {
  readonly #pool: Pool
  /** The name of each prepared statement by its SQL text. */
  readonly #names = new Map<string, string>()
  #isRefused = false
  /** Why this process may write nothing. Null if it may. */
  refusal: string | null = null
  /** The newest transaction of each lane. The next one waits for it. */
  readonly #lanes = new Map<string, Promise<unknown>>()

  readonly #onOutage: (error: unknown) => void

  private constructor(pool: Pool, onOutage: (error: unknown) => void) {
    this.#pool = pool
    this.#onOutage = onOutage
  }

  /**
   * Creates a pool without connecting.
   *
   * @throws HoldfastError `CONFIG_INVALID` if the package `pg` is not installed
   */
  static async open(options: PostgresOptions): Promise<Postgres> {
    const { default: pg } = await loadPg()
    const {
      url,
      connections = MOST_CONNECTIONS,
      answerMs = ANSWER_MS,
      silentMs = SILENT_MS,
      onOutage = () => undefined,
    } = options
    const config: PoolConfig = {
      connectionString: url,
      application_name: 'holdfast',
      max: connections,
      connectionTimeoutMillis: CONNECT_MS,
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
      keepAlive: true,
      // Statements that are sent without waiting for each other's answers share a round trip.
      pipeline: true,
      // The client waits longer than the server, so that the server cancels the statement first and reports the timeout.
      ...(answerMs === null ? {} : { statement_timeout: answerMs, query_timeout: answerMs + CONNECT_MS }),
      idle_in_transaction_session_timeout: silentMs,
      types: {
        getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
          oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
      },
    }
    const pool = new pg.Pool(config)
    pool.on('error', onOutage)
    pool.on('connect', client => {
      // Without a listener, an error of a connection in use ends the process.
      client.on('error', onOutage)
      // A lost connection also fails the next statement, which the caller sends.
      client.query(SETTINGS).catch(() => undefined)
    })
    return new Postgres(pool, onOutage)
  }

  /** Runs single statements that only read, each on any free connection. */
  readonly reading: Sql = this.#sql(<Row>(text: string, params: readonly SqlParam[]) => this.#single<Row>(text, params))

  get statements(): string[] {
    return [...this.#names.keys()]
  }

  /**
   * Runs one statement that writes, in its own transaction. Returns the number of changed rows.
   *
   * @throws HoldfastError `UNAVAILABLE` if the database cannot be reached: nothing was written; `OUTCOME_UNKNOWN` if
   * the connection was lost during the commit: the change may have been written
   */
  async command(text: string, params: readonly SqlParam[] = []): Promise<number> {
    return this.transaction(sql => sql.run(text, params))
  }

  /**
   * Runs one statement that writes, without `BEGIN` and `COMMIT`. Returns its rows.
   *
   * @throws HoldfastError `UNAVAILABLE` if the database cannot be reached; `OUTCOME_UNKNOWN` if the connection was lost
   * during the statement: the change may have been written
   */
  async writeRows<Row>(text: string, params: readonly SqlParam[]): Promise<Row[]> {
    return this.#withRetries(async () => {
      const client = await this.connection()
      let isBroken = false
      try {
        return (await this.#send<Row>(client, text, params)).rows
      } catch (error) {
        isBroken = isConnectionLost(error)
        throw isBroken ? outcomeUnknown(error) : error
      } finally {
        client.release(isBroken)
      }
    })
  }

  /**
   * Runs `work` in one transaction, which is durable when the promise resolves. After a collision `work` runs again, so
   * it must only send statements.
   *
   * @param lane transactions of one lane run one at a time, over one connection: for those that take the same lock
   * @param isReadFirst true if `work` only reads or locks rows until its first answer. These statements are sent
   * together with `BEGIN`. Should it fail, they run without a transaction.
   * @throws HoldfastError the error that `work` throws; `UNAVAILABLE` if the database cannot be reached: nothing was
   * written; `OUTCOME_UNKNOWN` if the connection was lost during the commit: the changes may have been written
   */
  async transaction<T>(work: (sql: Sql) => Promise<T>, lane: string | null = null, isReadFirst = false): Promise<T> {
    const run = () => this.#withRetries(() => this.#attempt(work, isReadFirst))
    if (lane === null) return run()
    const turn = (this.#lanes.get(lane) ?? Promise.resolve()).then(run)
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

  async #withRetries<T>(run: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      if (this.refusal !== null) throw outageError('UNAVAILABLE', this.refusal)
      try {
        return await run()
      } catch (error) {
        if (!isRetryable(error) || attempt === MOST_ATTEMPTS) throw safeError(error)
      }
    }
  }

  /**
   * Takes a connection out of the pool. The caller returns it with `release(isBroken)`.
   *
   * @throws HoldfastError `UNAVAILABLE` if the database cannot be reached
   */
  async connection(): Promise<PoolClient> {
    try {
      const client = await this.#pool.connect()
      this.#isRefused = false
      return client
    } catch (error) {
      this.#isRefused = true
      this.#onOutage(error)
      throw databaseAway(error)
    }
  }

  /** True if the last attempt to get a connection from the pool failed. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  async #attempt<T>(work: (sql: Sql) => Promise<T>, isReadFirst: boolean): Promise<T> {
    const client = await this.connection()
    let isCommitting = false
    let isBroken = false
    try {
      const begun = this.#ask(client, 'BEGIN')
      if (!isReadFirst) await begun
      const send = async <Row>(text: string, params: readonly SqlParam[]) =>
        (await Promise.all([this.#send<Row>(client, text, params), begun]))[0]
      const [result] = await Promise.all([work(this.#sql(send)), begun])
      isCommitting = true
      const { command } = await this.#ask(client, 'COMMIT')
      if (command !== 'COMMIT') throw new HoldfastError('INTERNAL_ERROR', 'the transaction continued after an error')
      return result
    } catch (error) {
      isBroken = isConnectionLost(error)
      if (isCommitting && isBroken) throw outcomeUnknown(error)
      if (!isBroken) await client.query('ROLLBACK').catch(() => (isBroken = true))
      throw error
    } finally {
      client.release(isBroken)
    }
  }

  async #single<Row>(text: string, params: readonly SqlParam[]): Promise<{ rows: Row[]; count: number }> {
    const client = await this.connection()
    let isBroken = false
    try {
      return await this.#send<Row>(client, text, params)
    } catch (error) {
      isBroken = isConnectionLost(error)
      throw safeError(error)
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
    const { rows, rowCount } = await this.#ask(client, { name, text, values: params.map(toValue) })
    return { rows: rows as Row[], count: rowCount ?? 0 }
  }

  async #ask(client: PoolClient, query: string | QueryConfig): Promise<QueryResult> {
    const { stream } = client.connection
    // Statements sent together share a system call.
    stream.cork()
    queueMicrotask(() => stream.uncork())
    try {
      return await client.query(query)
    } catch (error) {
      const failure = new StatementFailure(error)
      if (isOutageFailure(failure)) this.#onOutage(error)
      throw failure
    }
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
    throw new HoldfastError('CONFIG_INVALID', 'database: PostgreSQL needs the package pg; run npm install pg', {
      cause,
    })
  }
}

/** Converts bytes to a `Buffer`, which `pg` requires. */
function toValue(param: SqlParam): unknown {
  if (param instanceof Uint8Array) return Buffer.from(param.buffer, param.byteOffset, param.byteLength)
  return Array.isArray(param) ? param.map(toValue) : param
}
