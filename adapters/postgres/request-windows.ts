import type { RequestShare, RequestWindows } from '../../src/catalogue/sign-in.ts'
import type { RateLimit } from '../../src/domain/plan.ts'
import type { Postgres } from './postgres.ts'

/** Windows that have ended which one question removes: more than it makes, so that they do not grow. */
const SWEPT = 4
/**
 * Decides as `RateLimiter` does: no window ends later than one that begins now. A statement that waited for the row's lock
 * has an old `now()`, so the clock is read again.
 */
const HAS_ENDED = '(w.ends_at <= now() OR w.ends_at > clock_timestamp() + (excluded.ends_at - now()))'
/** One in so many of what is left is granted at a time: two for each node, so that others get theirs, and four at least. */
const PARTS = 'GREATEST(4, 2 * (SELECT COUNT(*) FROM nodes))'
/** How many of so many that are left are granted: one at least, while there is one. */
const grantOf = (left: string): string => `LEAST(GREATEST(0, ${left}), GREATEST(1, (${left}) / ${PARTS}))`
const OF_NEW = grantOf('b.most')
const OF_LEFT = grantOf('excluded.most - w.used')
const NOTHING: RequestShare = { granted: 0, left: 0, msLeft: 0 }

/**
 * The windows of requests that all nodes let through. A node is granted a part of what is left, which counts as let
 * through by then: so a limit takes a few questions in each window, however many requests there are.
 */
export class PostgresRequestWindows implements RequestWindows {
  readonly #database: Postgres

  constructor(database: Postgres) {
    this.#database = database
  }

  async grant(buckets: ReadonlyArray<{ key: string; limit: RateLimit }>): Promise<RequestShare[]> {
    const limits = buckets.map(({ limit }) => limit)
    // One statement, which commits by itself. One whose answer is lost has granted what nobody uses.
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
