/** Maximum number of deliveries that wait for one webhook. Further events are counted and dropped. */
const MOST_WAITING = 1_000

function recordJson(row: 'NEW' | 'OLD'): string {
  return `json_object('uploadId', ${row}.id, 'cid', ${row}.cid, 'clusterId', ${row}.cluster_id, 'type', ${row}.type,
      'name', COALESCE(${row}.custom_name, ${row}.original_name, ${row}.name, ${row}.cid), 'size', ${row}.size,
      'status', ${row}.status, 'reason', ${row}.status_reason, 'expiresAt', ${row}.expires_at,
      'createdAt', ${row}.created_at, 'meta', json(COALESCE(${row}.meta, '{}')))`
}

function hasWebhook(row: 'NEW' | 'OLD'): string {
  return `EXISTS (SELECT 1 FROM webhooks WHERE account_id = ${row}.account_id)`
}

interface Transition {
  row: 'NEW' | 'OLD'
  from: string
  at: string
  /** True for the schema before jobs, in which `deliveries` has the column `due_at`. */
  hasDue: boolean
}

function noted(event: string, { row, from, at, hasDue }: Transition): string {
  return `
    UPDATE webhooks SET dropped = dropped + 1 WHERE account_id = ${row}.account_id AND waiting >= ${MOST_WAITING};
    INSERT INTO deliveries (webhook_id, account_id, event, record, from_status, created_at${hasDue ? ', due_at' : ''})
    SELECT id, account_id, '${event}', ${recordJson(row)}, ${from}, ${at}${hasDue ? ', 0' : ''} FROM webhooks
    WHERE account_id = ${row}.account_id AND waiting < ${MOST_WAITING};
    UPDATE webhooks SET waiting = waiting + 1 WHERE account_id = ${row}.account_id AND waiting < ${MOST_WAITING};`
}

export function transitionTriggers({ hasDue }: Pick<Transition, 'hasDue'>): string {
  return `CREATE TRIGGER records_created AFTER INSERT ON records WHEN ${hasWebhook('NEW')}
  BEGIN${noted('pin:created', { row: 'NEW', from: 'NULL', at: 'NEW.created_at', hasDue })}
  END;
  CREATE TRIGGER records_changed AFTER UPDATE OF status ON records WHEN OLD.status <> NEW.status AND ${hasWebhook('NEW')}
  BEGIN${noted('pin:status', { row: 'NEW', from: 'OLD.status', at: 'NEW.status_at', hasDue })}
  END;
  CREATE TRIGGER records_removed AFTER DELETE ON records WHEN ${hasWebhook('OLD')}
  BEGIN${noted('pin:removed', { row: 'OLD', from: 'NULL', at: 'NULL', hasDue })}
  END;`
}

/** Triggers add a delivery in the transaction that changes a record. */
export const webhooksSchema = `
  CREATE TABLE webhooks (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    -- the key that created it; deleting the key deletes the webhook; null if a session created it
    key_id TEXT,
    url TEXT NOT NULL,
    -- signs deliveries; sealed with the data key
    secret BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    -- waiting: unfinished deliveries; dropped: transitions over the limit
    waiting INTEGER NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX webhooks_by_account ON webhooks (account_id, created_at);
  CREATE INDEX webhooks_by_key ON webhooks (key_id) WHERE key_id IS NOT NULL;

  CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    event TEXT NOT NULL,
    -- JSON
    record TEXT NOT NULL,
    from_status TEXT,
    -- null until the first attempt, if SQL does not know the time
    created_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- null once it has ended
    due_at INTEGER,
    delivered INTEGER NOT NULL DEFAULT 0,
    -- of the last attempt: its HTTP status, or the reason why there is none, and its time
    last_status INTEGER,
    last_error TEXT,
    last_at INTEGER
  ) STRICT;
  CREATE INDEX deliveries_by_account ON deliveries (account_id, due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX deliveries_by_time ON deliveries (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, id);
  CREATE INDEX deliveries_ended ON deliveries (webhook_id, id) WHERE due_at IS NULL;

  ${transitionTriggers({ hasDue: true })}
  CREATE TRIGGER webhooks_removed AFTER DELETE ON webhooks
  BEGIN
    DELETE FROM deliveries WHERE webhook_id = OLD.id;
  END;
  CREATE TRIGGER api_keys_removed AFTER DELETE ON api_keys
  BEGIN
    DELETE FROM webhooks WHERE key_id = OLD.id;
  END;
`

/** Failed deliveries of all accounts, for the owner. */
export const failedDeliveriesSchema = `
  CREATE INDEX deliveries_failed ON deliveries (id) WHERE ended = 1 AND delivered = 0;
`
