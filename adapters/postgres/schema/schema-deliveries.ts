/** Maximum number of queued deliveries of one webhook. Further ones are dropped and only counted. */
const MOST_WAITING = 1_000

const queued = `
    RETURNING id, account_id)
    INSERT INTO jobs (kind, key, queue, account_id, due_at) SELECT 'delivery', id, '', told.account_id, 0 FROM told`

/** @param hasDue true if `deliveries` has the column `due_at`. Later versions of the schema have jobs instead. */
export function noteTransition({ hasDue }: { hasDue: boolean }): string {
  return `CREATE ${hasDue ? '' : 'OR REPLACE '}FUNCTION note_transition(event TEXT, r records, former TEXT, at BIGINT) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    -- Most accounts have no webhook.
    IF NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.account_id = r.account_id) THEN RETURN; END IF;
    -- Lock in one order to avoid deadlocks.
    PERFORM 1 FROM webhooks w WHERE w.account_id = r.account_id ORDER BY w.id FOR UPDATE;
    UPDATE webhooks w SET dropped = dropped + 1 WHERE w.account_id = r.account_id AND waiting >= ${MOST_WAITING};
    WITH noted AS (
      UPDATE webhooks w SET waiting = waiting + 1 WHERE w.account_id = r.account_id AND waiting < ${MOST_WAITING}
      RETURNING w.id)
    ${hasDue ? '' : ', told AS ('}INSERT INTO deliveries (webhook_id, account_id, event, record, from_status, created_at${hasDue ? ', due_at' : ''})
    SELECT noted.id, r.account_id, note_transition.event, json_build_object(
        'uploadId', r.id, 'cid', r.cid, 'clusterId', r.cluster_id, 'type', r.type,
        'name', COALESCE(r.custom_name, r.original_name, r.name, r.cid), 'size', r.size, 'status', r.status,
        'reason', r.status_reason, 'expiresAt', r.expires_at, 'createdAt', r.created_at,
        'meta', COALESCE(r.meta, '{}')::json)::text, former, at${hasDue ? ', 0' : ''}
    FROM noted${hasDue ? '' : queued};
  END $$;`
}

/** Triggers queue the deliveries in the transaction that changes a record. */
export const webhooksSchema = `
  CREATE TABLE webhooks (
    id TEXT COLLATE "C" PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL,
    -- the key that created it, and with which it is deleted; null if a session did
    key_id TEXT COLLATE "C",
    url TEXT NOT NULL,
    -- the sealed key that signs deliveries
    secret BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    -- queued deliveries, and transitions dropped because the queue was full
    waiting BIGINT NOT NULL DEFAULT 0,
    dropped BIGINT NOT NULL DEFAULT 0
  );
  CREATE INDEX webhooks_by_account ON webhooks (account_id, created_at);
  CREATE INDEX webhooks_by_key ON webhooks (key_id) WHERE key_id IS NOT NULL;

  CREATE TABLE deliveries (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id TEXT COLLATE "C" NOT NULL,
    account_id TEXT COLLATE "C" NOT NULL,
    event TEXT NOT NULL,
    record TEXT NOT NULL,
    from_status TEXT,
    created_at BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0,
    -- null once the delivery has succeeded or was given up
    due_at BIGINT,
    -- the node that works on it, until this time by the database's clock
    leased_by TEXT,
    leased_until TIMESTAMPTZ,
    delivered BOOLEAN NOT NULL DEFAULT FALSE,
    last_status INTEGER,
    last_error TEXT,
    last_at BIGINT
  );
  CREATE INDEX deliveries_by_account ON deliveries (account_id, due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX deliveries_by_time ON deliveries (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, id);
  CREATE INDEX deliveries_ended ON deliveries (webhook_id, id) WHERE due_at IS NULL;

  ${noteTransition({ hasDue: true })}
  CREATE FUNCTION record_created() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM note_transition('pin:created', NEW, NULL, NEW.created_at);
    RETURN NULL;
  END $$;
  CREATE FUNCTION record_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM note_transition('pin:status', NEW, OLD.status, NEW.status_at);
    RETURN NULL;
  END $$;
  CREATE FUNCTION record_removed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM note_transition('pin:removed', OLD, NULL, NULL);
    RETURN NULL;
  END $$;
  CREATE TRIGGER records_created AFTER INSERT ON records FOR EACH ROW EXECUTE FUNCTION record_created();
  CREATE TRIGGER records_changed AFTER UPDATE OF status ON records FOR EACH ROW
    WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION record_changed();
  CREATE TRIGGER records_removed AFTER DELETE ON records FOR EACH ROW EXECUTE FUNCTION record_removed();

  CREATE FUNCTION webhook_removed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM deliveries WHERE webhook_id = OLD.id;
    RETURN NULL;
  END $$;
  CREATE TRIGGER webhooks_removed AFTER DELETE ON webhooks FOR EACH ROW EXECUTE FUNCTION webhook_removed();
  CREATE FUNCTION key_removed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM webhooks WHERE key_id = OLD.id;
    RETURN NULL;
  END $$;
  CREATE TRIGGER api_keys_removed AFTER DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION key_removed();
`

/** Failed deliveries of all accounts, for the owner. */
export const deliveryFailuresSchema = `
  CREATE INDEX deliveries_failed ON deliveries (id) WHERE ended AND NOT delivered;
`
