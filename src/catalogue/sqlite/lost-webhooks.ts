import type { Database } from '../../storage/database.ts'

/** The addresses that accounts have told of their records. */
export function webhooksIn(db: Database): string[] {
  return db
    .prepare<[], { url: string }>('SELECT url FROM webhooks ORDER BY url')
    .all()
    .map(({ url }) => url)
}

/** Tells none of them any more: what their deliveries were signed with is lost. Part of a transaction. */
export function forgetWebhooks(db: Database): void {
  db.prepare('DELETE FROM webhooks').run()
}
