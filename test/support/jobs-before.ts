/** Returns SQL that fills a database of the schema before `jobs` with `rows` rows of each kind of work. */
export function workBefore(rows: number, engine: 'sqlite' | 'postgres'): string[] {
  const isSqlite = engine === 'sqlite'
  const from = isSqlite
    ? `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${rows})`
    : `WITH counted (n) AS (SELECT generate_series(1, ${rows}))`
  const [content, yes, no] = isSqlite
    ? ["CAST(printf('%032d', n) AS BLOB)", '1', '0']
    : ["convert_to(lpad(n::text, 32, '0'), 'UTF8')", 'TRUE', 'FALSE']
  const own = isSqlite ? ['', ''] : [', node, hold_id, created_at', ", 'here', 'fetch ' || n, n"]
  return [
    // One in ten fetches is running, one has been given up, and eight are due.
    `${from} INSERT INTO fetches (account_id, backend_id, codec, multihash, root_id, origins, attempts, next_attempt_at,
       last_error, running${own[0]})
     SELECT 'a' || (n % 100), 0, 85, ${content}, n, ${isSqlite ? "'[]'" : "'{}'"}, n % 7,
       CASE WHEN n % 10 > 1 THEN n END, 'e' || n, CASE WHEN n % 10 = 0 THEN ${yes} ELSE ${no} END${own[1]} FROM counted`,
    // One in ten placements is placed, one is fetched by its backend, one is unwanted, and seven are to be sent.
    `${from} INSERT INTO placements (backend_id, codec, multihash, account_id, wanted, generation, placed, attempts, due_at,
       last_error)
     SELECT 1, 85, ${content}, 'a' || (n % 100), CASE WHEN n % 10 = 2 THEN ${no} ELSE ${yes} END, n,
       CASE WHEN n % 10 = 0 THEN ${yes} ELSE ${no} END, n % 7, CASE WHEN n % 10 > 1 THEN n END, 'e' || n FROM counted`,
    `INSERT INTO webhooks (id, account_id, url, secret, created_at) VALUES ('w', 'a1', '', ${isSqlite ? "x''" : "''"}, 0)`,
    // One in ten deliveries has ended.
    `${from} INSERT INTO deliveries (webhook_id, account_id, event, record, created_at, attempts, due_at, last_error)
     SELECT 'w', 'a' || (n % 100), 'pin:created', '{}', n, n % 7, CASE WHEN n % 10 > 0 THEN n END, 'e' || n FROM counted`,
  ]
}

/** Summarises the jobs after the migration. It runs on both databases. */
export const WORK_AFTER = `
  SELECT kind, queue, COUNT(*) AS count, COUNT(due_at) AS due, SUM(key) AS keys, SUM(attempts) AS attempts,
    COUNT(last_error) AS errors, MIN(account_id) AS first, MAX(account_id) AS last
  FROM jobs GROUP BY kind, queue ORDER BY kind`

/** Returns the rows that {@link WORK_AFTER} must find. @param rows a multiple of 1,000 */
export function workAfter(rows: number, fetchQueue: string): unknown[] {
  const all = Array.from({ length: rows }, (_, i) => i + 1)
  const found = (kind: string, queue: string, isJob: (n: number) => boolean, isDue: (n: number) => boolean) => {
    const jobs = all.filter(isJob)
    const sum = (of: (n: number) => number) => jobs.reduce((total, n) => total + of(n), 0)
    const accounts = jobs.map(n => `a${n % 100}`).toSorted()
    return {
      ...{ kind, queue, count: jobs.length, due: jobs.filter(isDue).length },
      ...{ keys: sum(n => n), attempts: sum(n => n % 7), errors: kind === 'delivery' ? 0 : jobs.length },
      ...{ first: accounts[0], last: accounts.at(-1) },
    }
  }
  return [
    found(
      'delivery',
      '',
      n => n % 10 > 0,
      () => true,
    ),
    found(
      'fetch',
      fetchQueue,
      n => n % 10 !== 1,
      n => n % 10 > 1,
    ),
    found(
      'placement',
      '1',
      n => n % 10 > 1,
      () => true,
    ),
  ]
}
