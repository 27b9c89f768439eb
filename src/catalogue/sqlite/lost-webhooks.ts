import type { Database } from '../../storage/database.ts'

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
