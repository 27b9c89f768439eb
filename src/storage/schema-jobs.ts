import { transitionTriggers } from './schema-webhooks.ts'

function gone(table: string, kind: string): string {
  return `
  CREATE TRIGGER ${table}_gone AFTER DELETE ON ${table}
  BEGIN
    DELETE FROM jobs WHERE kind = '${kind}' AND key = OLD.id;
  END;`
}

/**
 * Schema of the jobs of fetches, placements and deliveries. Their states stay in their own tables.
 * A job is deleted when it has succeeded or is given up.
 */
export const jobsSchema = `
  CREATE TABLE jobs (
    -- what is to be done, and the row of the kind's own table that has its state
    kind TEXT NOT NULL,
    key INTEGER NOT NULL,
    -- who works at it: the number of a backend for placements
    queue TEXT NOT NULL,
    -- whose turn it is
    account_id TEXT NOT NULL,
    -- null while its only worker is at it
    due_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    PRIMARY KEY (kind, key)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO jobs
    SELECT 'delivery', id, '', account_id, due_at, attempts, NULL FROM deliveries WHERE due_at IS NOT NULL ORDER BY id;
  INSERT INTO jobs
    SELECT 'fetch', id, '', account_id, next_attempt_at, attempts, last_error FROM fetches
    WHERE next_attempt_at IS NOT NULL OR running = 1 ORDER BY id;
  INSERT INTO jobs
    SELECT 'placement', id, CAST(backend_id AS TEXT), account_id, due_at, attempts, last_error FROM placements
    WHERE due_at IS NOT NULL ORDER BY id;
  CREATE INDEX jobs_by_account ON jobs (kind, queue, account_id, due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX jobs_by_time ON jobs (kind, queue, due_at) WHERE due_at IS NOT NULL;

  DROP INDEX fetches_by_account;
  DROP INDEX fetches_by_time;
  DROP INDEX fetches_waiting;
  ALTER TABLE fetches DROP COLUMN next_attempt_at;
  ${gone('fetches', 'fetch')}

  -- 1: the backend fetches it by itself, and has no job until that is over
  ALTER TABLE placements ADD COLUMN entrusted INTEGER NOT NULL DEFAULT 0;
  UPDATE placements SET entrusted = 1 WHERE wanted = 1 AND placed = 0 AND due_at IS NULL;
  DROP TRIGGER placements_unwanted;
  DROP INDEX placements_by_account;
  DROP INDEX placements_by_time;
  ALTER TABLE placements DROP COLUMN attempts;
  ALTER TABLE placements DROP COLUMN due_at;
  ALTER TABLE placements DROP COLUMN last_error;
  CREATE TRIGGER placements_unwanted AFTER UPDATE OF state ON roots
    WHEN OLD.state = 'complete' AND NEW.state = 'dropped'
  BEGIN
    INSERT INTO jobs (kind, key, queue, account_id, due_at)
      SELECT 'placement', id, CAST(backend_id AS TEXT), account_id, 0 FROM placements
      WHERE multihash = NEW.multihash AND codec = NEW.codec AND backend_id = NEW.backend_id AND wanted = 1
      ON CONFLICT (kind, key) DO UPDATE SET due_at = 0, attempts = 0;
    UPDATE placements SET wanted = 0, placed = 0, generation = generation + 1
    WHERE multihash = NEW.multihash AND codec = NEW.codec AND backend_id = NEW.backend_id AND wanted = 1;
  END;
  ${gone('placements', 'placement')}

  -- 1: nothing is tried any more; attempts and last_error say what there was until then
  ALTER TABLE deliveries ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
  UPDATE deliveries SET ended = 1 WHERE due_at IS NULL;
  DROP TRIGGER records_created;
  DROP TRIGGER records_changed;
  DROP TRIGGER records_removed;
  DROP INDEX deliveries_by_account;
  DROP INDEX deliveries_by_time;
  DROP INDEX deliveries_ended;
  ALTER TABLE deliveries DROP COLUMN due_at;
  CREATE INDEX deliveries_ended ON deliveries (webhook_id, id) WHERE ended = 1;
  CREATE TRIGGER deliveries_added AFTER INSERT ON deliveries
  BEGIN
    INSERT INTO jobs (kind, key, queue, account_id, due_at) VALUES ('delivery', NEW.id, '', NEW.account_id, 0);
  END;
  ${gone('deliveries', 'delivery')}
  ${transitionTriggers({ hasDue: false })}
`

/**
 * Schema of changes of many records, and of removed records in their undo period. The hold of such a record has ended,
 * which keeps the content without letting anybody read it.
 */
export const bulkSchema = `
  CREATE TABLE bulk_changes (
    -- never reused: a job knows its row by it
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- the id for clients
    name TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL,
    action TEXT NOT NULL,
    -- a JSON array of record ids, or a JSON object of filters; empty once it is not needed
    selection TEXT NOT NULL,
    phase TEXT NOT NULL DEFAULT 'running',
    -- where the next step begins
    place TEXT NOT NULL DEFAULT '',
    total INTEGER NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    restored INTEGER NOT NULL DEFAULT 0,
    -- a JSON array
    failures TEXT NOT NULL DEFAULT '[]',
    freed_bytes INTEGER NOT NULL DEFAULT 0,
    undo_ms INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- null until it, or its undoing, has ended
    ended_at INTEGER
  ) STRICT;
  CREATE INDEX bulk_changes_by_account ON bulk_changes (account_id);
  CREATE TRIGGER bulk_changes_gone AFTER DELETE ON bulk_changes
  BEGIN
    DELETE FROM jobs WHERE kind = 'bulk' AND key = OLD.id;
  END;

  -- The columns of "records", and the change that removed the record.
  CREATE TABLE removed_records (
    id TEXT PRIMARY KEY,
    change_id INTEGER NOT NULL,
    account_id TEXT NOT NULL,
    cluster_id TEXT NOT NULL,
    cid TEXT NOT NULL,
    codec INTEGER NOT NULL,
    multihash BLOB NOT NULL,
    root_id INTEGER,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    status_at INTEGER NOT NULL,
    status_code TEXT,
    status_reason TEXT,
    fetch_id INTEGER,
    name TEXT,
    original_name TEXT,
    custom_name TEXT,
    meta TEXT,
    size INTEGER NOT NULL,
    dag_size INTEGER NOT NULL,
    charge INTEGER NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    search_id INTEGER
  ) STRICT;
  CREATE INDEX removed_records_by_change ON removed_records (change_id, id);
`
