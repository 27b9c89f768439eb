import type { Sql } from './sql.ts'

/** A webhook drops deliveries above 1,000 waiting ones. The rest is for other changes of the account. */
const MOST_WAITING = 800
/** Deliveries of a record that is taken over: its change now, and those of its fetch. */
const DELIVERIES_EACH = 4
/** With an account that has no webhook, nothing has to be waited for. */
const WAITING = `
  SELECT MAX(waiting) AS waiting, (
    SELECT COUNT(*) FROM (
      SELECT 1 FROM records WHERE account_id = $1 AND status IN ('queued', 'pinning') AND lost_with IS NOT NULL
      LIMIT $2) AS open) AS open
  FROM webhooks WHERE account_id = $1`

/** Returns how many records may become complete now, so that no webhook of the account drops a delivery. */
export async function roomForWhole(sql: Sql, accountId: string): Promise<number> {
  const text = 'SELECT MAX(waiting) AS waiting FROM webhooks WHERE account_id = $1'
  const found = await sql.first<{ waiting: number | null }>(text, [accountId])
  return Math.max(0, MOST_WAITING - (found?.waiting ?? 0))
}

/** Returns how many of `wanted` records may change now, so that no webhook of the account drops a delivery. */
export async function roomFor(sql: Sql, accountId: string, wanted: number): Promise<number> {
  const found = await sql.first<{ waiting: number | null; open: number }>(WAITING, [accountId, MOST_WAITING])
  if (found === undefined || found.waiting === null) return wanted
  const room = Math.floor((MOST_WAITING - found.waiting) / DELIVERIES_EACH) - found.open
  return Math.min(wanted, Math.max(0, room))
}
