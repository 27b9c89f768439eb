import type { Database } from '../../storage/database.ts'

export function secondFactorsIn(db: Database): string[] {
  const rows = db.prepare<[], { email: string }>(`
    SELECT a.email FROM second_factors f JOIN accounts a ON a.id = f.account_id
    WHERE f.enabled_at IS NOT NULL AND a.deleted_at IS NULL ORDER BY a.email`)
  return rows.all().map(({ email }) => email)
}

/** Runs within the caller's transaction. */
export function forgetSecondFactors(db: Database): void {
  db.prepare('DELETE FROM recovery_codes').run()
  db.prepare('DELETE FROM second_factors').run()
}

export function webhooksIn(db: Database): string[] {
  return db
    .prepare<[], { url: string }>('SELECT url FROM webhooks ORDER BY url')
    .all()
    .map(({ url }) => url)
}

/**
 * Removes all webhooks, because their signing secrets can no longer be opened. Runs within the caller's transaction.
 */
export function forgetWebhooks(db: Database): void {
  db.prepare('DELETE FROM webhooks').run()
}

/** Users of a sign-in provider must sign in again. Runs within the caller's transaction. */
export function forgetRefreshTokens(db: Database): void {
  db.prepare('UPDATE identities SET refresh_token = NULL, refresh_at = NULL').run()
}
