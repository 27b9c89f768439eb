import pg from 'pg'
import { startPostgres, type TestPostgres } from '../../test/support/postgres-server.ts'

/** Work of a PostgreSQL server since its start. */
export interface DatabaseWork {
  statements: number
  /** Syncs of its log. */
  syncs: number
}

/** A connection reports its syncs at the latest after this time without a statement. */
const REPORTED_SECONDS = 10.5

/** A PostgreSQL server whose commits wait for the disk, and that can count its statements. */
export class BenchDatabase {
  readonly #server: TestPostgres
  readonly #counting: pg.Client

  private constructor(server: TestPostgres, counting: pg.Client) {
    this.#server = server
    this.#counting = counting
  }

  static async start(): Promise<BenchDatabase> {
    const server = await startPostgres({ syncs: true, settings: ['shared_preload_libraries=pg_stat_statements'] })
    const counting = new pg.Client({ connectionString: await server.fresh() })
    await counting.connect()
    await counting.query('CREATE EXTENSION pg_stat_statements')
    const database = new BenchDatabase(server, counting)
    await database.#track('none')
    return database
  }

  /** Processes whose costs count. */
  get pids(): number[] {
    return this.#server.pid === undefined ? [] : [this.#server.pid]
  }

  /** Creates an empty database. Returns its URL. */
  fresh(): Promise<string> {
    return this.#server.fresh()
  }

  /**
   * Counts the work of some requests. Counting takes time, so a measurement of time does not count.
   *
   * @param isExact false to count some syncs of other requests, without the wait for all reports
   */
  async counted<T>(work: () => Promise<T>, isExact: boolean): Promise<{ result: T; work: DatabaseWork }> {
    await this.#track('top')
    const before = await this.#work(isExact)
    const result = await work()
    const after = await this.#work(isExact)
    await this.#track('none')
    return { result, work: { statements: after.statements - before.statements, syncs: after.syncs - before.syncs } }
  }

  /** Inserts records for the owner directly, because uploads would take too long. */
  async fill(url: string, records: number): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      // Triggers that are disabled stay so.
      await client.query('SET session_replication_role = replica')
      await client.query(
        `INSERT INTO records (id, account_id, cluster_id, cid, codec, multihash, root_id, type, status, status_at, name,
           size, dag_size, charge, created_at, identity, folded_name, words)
         SELECT 'made' || n, a.id, r.cluster_id, r.cid, r.codec, '\\x1220'::bytea || sha256(n::text::bytea),
           1000000000 + n, 'file', 'pinned', n, 'file ' || n, 1000, 1000, 1000, n, sha256(('i' || n)::bytea),
           'file ' || n, ARRAY[a.seq || 'nfile', a.seq || 'n' || n]
         FROM generate_series(1, $1::integer) n, accounts a, (SELECT * FROM records ORDER BY seq LIMIT 1) r
         WHERE a.role = 'owner'`,
        [records],
      )
      await client.query(`UPDATE accounts SET pins = pins + $1 WHERE role = 'owner'`, [records])
      await client.query('ANALYZE')
    } finally {
      await client.end()
    }
  }

  async stop(): Promise<void> {
    await this.#counting.end()
    await this.#server.stop()
  }

  async #track(which: 'top' | 'none'): Promise<void> {
    await this.#counting.query(`ALTER SYSTEM SET pg_stat_statements.track = '${which}'`)
    await this.#counting.query('SELECT pg_reload_conf(), pg_sleep(0.2)')
  }

  async #work(isExact: boolean): Promise<DatabaseWork> {
    if (isExact) await this.#counting.query(`SELECT pg_sleep(${REPORTED_SECONDS})`)
    const { rows } = await this.#counting.query<{ statements: string; syncs: string }>(
      'SELECT (SELECT COALESCE(SUM(calls), 0) FROM pg_stat_statements) AS statements, wal_sync AS syncs FROM pg_stat_wal',
    )
    return { statements: Number(rows[0]?.statements), syncs: Number(rows[0]?.syncs) }
  }
}
