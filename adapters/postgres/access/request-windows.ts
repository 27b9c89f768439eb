import type { RequestShare, RequestWindows } from '../../../src/catalogue/sign-in.ts'
import type { RateLimit } from '../../../src/domain/plan.ts'
import type { Postgres } from '../database/postgres.ts'

/**
 * Maximum number of expired windows that a call deletes. It exceeds the number that a call creates, so that the table
 * shrinks.
 */
const SWEPT = 4
/**
 * A window also counts as ended if a new one would end earlier. Reads the clock again: `now()` is old if the statement
 * waited for the row's lock.
 */
const HAS_ENDED = '(w.ends_at <= now() OR w.ends_at > clock_timestamp() + (excluded.ends_at - now()))'
/** Number of parts into which the remaining requests are divided, so that every node gets a share. */
const PARTS = 'GREATEST(4, 2 * (SELECT COUNT(*) FROM nodes))'
/** SQL for the number of requests in a grant: at least one while requests are left. */
const grantOf = (left: string): string => `LEAST(GREATEST(0, ${left}), GREATEST(1, (${left}) / ${PARTS}))`
const OF_NEW = grantOf('b.most')
const OF_LEFT = grantOf('excluded.most - w.used')
const NOTHING: RequestShare = { granted: 0, left: 0, msLeft: 0 }

/**
 * Each node is granted part of a window's remaining requests in advance, and they count as used. A window therefore
 * costs only a few queries.
 */
export class PostgresRequestWindows implements RequestWindows {
  readonly #database: Postgres

  constructor(database: Postgres) {
    this.#database = database
  }

  async grant(buckets: ReadonlyArray<{ key: string; limit: RateLimit }>): Promise<RequestShare[]> {
    const limits = buckets.map(({ limit }) => limit)
    // A single statement commits by itself. If its answer is lost, the granted requests stay unused.
    const rows = await this.#database.reading.all<RequestShare & { key: string }>(
      `WITH ended AS (
         DELETE FROM request_windows WHERE key = ANY(ARRAY(
           SELECT key FROM request_windows WHERE ends_at < now() AND key <> ALL($1)
           ORDER BY ends_at LIMIT ${SWEPT} FOR UPDATE SKIP LOCKED)))
       INSERT INTO request_windows AS w (key, most, used, granted, ends_at)
       SELECT b.key, b.most, ${OF_NEW}, ${OF_NEW}, now() + b.seconds * INTERVAL '1 second'
       FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS b (key, most, seconds) ORDER BY b.key COLLATE "C"
       ON CONFLICT (key) DO UPDATE SET
         most = excluded.most,
         used = CASE WHEN ${HAS_ENDED} THEN excluded.used ELSE w.used + ${OF_LEFT} END,
         granted = CASE WHEN ${HAS_ENDED} THEN excluded.granted ELSE ${OF_LEFT} END,
         ends_at = CASE WHEN ${HAS_ENDED} THEN excluded.ends_at ELSE w.ends_at END
       RETURNING key, granted, GREATEST(0, most - used) AS left,
         EXTRACT(EPOCH FROM ends_at - clock_timestamp())::float8 * 1000 AS "msLeft"`,
      [buckets.map(({ key }) => key), limits.map(({ requests }) => requests), limits.map(l => l.windowSeconds)],
    )
    const shares = new Map(rows.map(({ key, ...share }) => [key, share]))
    return buckets.map(({ key }) => shares.get(key) ?? NOTHING)
  }
}
