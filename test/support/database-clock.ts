import pg from 'pg'

/** A database of which the clock stands until it is moved. The caller closes it. */
export interface DatabaseClock {
  /** Of the same database; what comes by it is not synced, which takes most of the time. */
  readonly url: string
  advance(ms: number): Promise<void>
  /** Waits for rows that are on their way: until the statement finds none. @throws if it goes on finding some */
  untilNone(text: string): Promise<void>
  close(): Promise<void>
}

const MOST_LOOKS = 5_000

/**
 * Has all who come by the URL it returns see a time that a test moves, beginning `at` milliseconds since the epoch: its
 * functions of the time stand before PostgreSQL's own.
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
      throw new Error(`there is still something: ${text}`)
    },
    close: () => client.end(),
  }
}
