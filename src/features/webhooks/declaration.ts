import { purgeOf } from '../../catalogue/rules/dialect.ts'
import type { Declaration } from '../feature.ts'

/** Webhooks: URLs that receive the events of an account's records. */
export const webhooks: Declaration = {
  name: 'webhooks',
  tables: [
    {
      name: 'webhooks',
      account: 'account_id',
      // The database also deletes the deliveries of a webhook, so a step removes only one webhook.
      purge: { rows: purgeOf('webhooks'), most: 1 },
      sealed: {
        listed: { as: 'webhooks', names: 'SELECT url AS name FROM webhooks ORDER BY url' },
        forget: 'DELETE FROM webhooks',
      },
      backlog: 'waiting',
      move: {
        columns: `id text, account_id text, key_id text, url text, secret bytea, created_at bigint, waiting bigint,
          dropped bigint`,
      },
    },
    {
      name: 'deliveries',
      account: 'account_id',
      move: {
        columns: `id bigint, webhook_id text, account_id text, event text, record text, from_status text,
          created_at bigint, attempts bigint, ended boolean, delivered boolean, last_status bigint, last_error text,
          last_at bigint`,
      },
    },
  ],
  due: { at: 'delivery', followsRecords: true },
}
