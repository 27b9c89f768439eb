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
