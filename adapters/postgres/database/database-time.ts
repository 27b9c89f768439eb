import { type Clock, systemClock } from '../../../src/domain/clock.ts'
import type { Sql } from './sql.ts'

const EARLIER = 'SELECT LEAST($1::bigint, FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint) AS now'

/**
 * Returns the earlier of a node's time and the database's, in ms. A node whose clock is ahead must not delete content of
 * the whole fleet early. The clock of a host program decides alone.
 */
export async function earlierTime(sql: Sql, clock: Clock, now: number): Promise<number> {
  if (clock !== systemClock) return now
  return (await sql.first<{ now: number }>(EARLIER, [now]))?.now ?? now
}
