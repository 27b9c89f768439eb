import pg from 'pg'

/** A database whose clock stands still until the test moves it. The caller closes it. */
export interface DatabaseClock {
  /** The same database with this clock. Its commits are not synced to disk, which makes tests much faster. */
  readonly url: string
  advance(ms: number): Promise<void>
  /** Repeats the statement until it returns no rows, for work that runs in the background. @throws after 5,000 tries */
  untilNone(text: string): Promise<void>
  close(): Promise<void>
}

const MOST_LOOKS = 5_000

/**
 * Sets the clock to `at`, in ms since the epoch, for every client of the returned URL. Its functions `now` and
 * `clock_timestamp` come before PostgreSQL's in the search path.
 */
export async function withStandingClock(given: string, at: number): Promise<DatabaseClock> {
  const client = new pg.Client({ connectionString: given })
  await client.connect()
  const { rows } = await client.query<{ schema: string }>('SELECT current_schema() AS schema')
  const schema = rows[0]?.schema ?? 'public'
  await client.query(`CREATE TABLE ${schema}.standing_clock AS SELECT to_timestamp(${at / 1_000}) AS at`)
  for (const name of ['now', 'clock_timestamp']) {
    await client.query(
      `CREATE FUNCTION ${schema}.${name}() RETURNS timestamptz LANGUAGE sql VOLATILE
       AS 'SELECT at FROM ${schema}.standing_clock'`,
    )
  }
  const url = new URL(given)
  url.searchParams.set('options', `-c search_path=${schema},pg_catalog -c synchronous_commit=off`)
  return {
    url: url.href,
    advance: async ms => {
      await client.query(`UPDATE ${schema}.standing_clock SET at = at + ${ms} * INTERVAL '1 millisecond'`)
    },
    untilNone: async text => {
      for (let looks = 0; looks < MOST_LOOKS; looks++) {
        if ((await client.query(text)).rows.length === 0) return
      }
      throw new Error(`the statement still finds rows: ${text}`)
    },
    close: () => client.end(),
  }
}
