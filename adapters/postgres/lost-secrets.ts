import type { SealedSecrets } from '../../src/catalogue/catalogue-system.ts'
import type { Postgres } from './postgres.ts'

export async function sealedIn({ reading }: Postgres): Promise<SealedSecrets> {
  const factors = await reading.all<{ email: string }>(
    `SELECT a.email FROM second_factors f JOIN accounts a ON a.id = f.account_id
     WHERE f.enabled_at IS NOT NULL AND a.deleted_at IS NULL ORDER BY a.email`,
  )
  const webhooks = await reading.all<{ url: string }>('SELECT url FROM webhooks ORDER BY url')
  const nodes = await reading.first<{ count: number }>('SELECT COUNT(*) AS count FROM nodes')
  return {
    secondFactors: factors.map(({ email }) => email),
    webhooks: webhooks.map(({ url }) => url),
    nodes: nodes?.count ?? 0,
  }
}

/** Deletes every sealed secret, signing keys included. The next node to start chooses the sealing key. */
export async function forgetSealed(database: Postgres): Promise<void> {
  await database.transaction(async sql => {
    for (const table of ['recovery_codes', 'second_factors', 'webhooks', 'signing_keys', 'sealing_key']) {
      await sql.run(`DELETE FROM ${table}`)
    }
    await sql.run('UPDATE identities SET refresh_token = NULL, refresh_at = NULL')
  })
}
