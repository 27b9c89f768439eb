import pg from 'pg'

/** A database of which the clock stands until it is moved. */
export interface DatabaseClock {
  /** Of the same database. */
  readonly url: string
  advance(ms: number): Promise<void>
}

/**
 * Has all who come by the URL it returns see a time that a test moves, beginning `at` milliseconds since the epoch: its
 * functions of the time stand before PostgreSQL's own.
 */
export async function withStandingClock(given: string, at: number): Promise<DatabaseClock> {
  const run = async (text: string): Promise<Array<{ schema: string }>> => {
    const client = new pg.Client({ connectionString: given })
    await client.connect()
    try {
      return (await client.query<{ schema: string }>(text)).rows
    } finally {
      await client.end()
    }
  }
  const [found] = await run('SELECT current_schema() AS schema')
  const schema = found?.schema ?? 'public'
  await run(`CREATE TABLE ${schema}.standing_clock AS SELECT to_timestamp(${at / 1_000}) AS at`)
  for (const name of ['now', 'clock_timestamp']) {
    await run(
      `CREATE FUNCTION ${schema}.${name}() RETURNS timestamptz LANGUAGE sql VOLATILE
       AS 'SELECT at FROM ${schema}.standing_clock'`,
    )
  }
  const url = new URL(given)
  url.searchParams.set('options', `-c search_path=${schema},pg_catalog`)
  return {
    url: url.href,
    advance: async ms => {
      await run(`UPDATE ${schema}.standing_clock SET at = at + ${ms} * INTERVAL '1 millisecond'`)
    },
  }
}
