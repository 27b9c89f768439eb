/**
 * Schema of holds, of indexes for queries about records, and of counters.
 * Each block counts as at least 512 bytes against the quota.
 */
export const holdsSchema = `
  -- A hold keeps a root. The id is opaque. ends: its expiry; the largest safe integer for no end.
  CREATE TABLE holds (
    id TEXT PRIMARY KEY,
    root_id INTEGER NOT NULL,
    ends INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO holds SELECT id, root_id, COALESCE(expires_at, 9007199254740991) FROM records WHERE root_id IS NOT NULL;
  INSERT INTO holds SELECT 'fetch ' || id, root_id, 9007199254740991 FROM fetches;
  CREATE INDEX holds_by_root ON holds (root_id, ends);

  -- Distinct blocks of a complete root, and their charge against a quota.
  ALTER TABLE roots ADD COLUMN blocks INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE roots ADD COLUMN charge INTEGER NOT NULL DEFAULT 0;
  UPDATE roots SET (blocks, charge) = (
    SELECT COUNT(*), COALESCE(SUM(MAX(b.size, 512)), 0)
    FROM root_blocks rb JOIN blocks b ON b.id = rb.block_id WHERE rb.root_id = roots.id
  ) WHERE state = 'complete';
  DROP INDEX roots_unfinished;
  CREATE INDEX roots_staging ON roots (id) WHERE state = 'staging';
  CREATE INDEX roots_dropped ON roots (id) WHERE state = 'dropped';

  ALTER TABLE records ADD COLUMN charge INTEGER NOT NULL DEFAULT 0;
  UPDATE records SET charge = COALESCE((SELECT charge FROM roots WHERE roots.id = records.root_id), 0);
  UPDATE accounts SET stored_bytes = COALESCE((
    SELECT SUM(charge) FROM (
      SELECT MAX(charge) AS charge FROM records
      WHERE account_id = accounts.id AND status = 'pinned' GROUP BY multihash, codec)
  ), 0);
  DROP INDEX records_by_account;
  DROP INDEX records_by_content;
  DROP INDEX records_by_root;
  CREATE INDEX records_by_account ON records (account_id, created_at DESC, id DESC, expires_at);
  CREATE INDEX records_by_content ON records (account_id, multihash, created_at DESC, id DESC, codec, expires_at);
  CREATE INDEX records_expiring ON records (account_id, created_at DESC, id DESC, expires_at)
    WHERE expires_at IS NOT NULL;
  CREATE INDEX records_by_account_expiry ON records (account_id, expires_at) WHERE expires_at IS NOT NULL;
  -- Finds a repeated request at once, even if an account has many records of one content.
  CREATE INDEX records_identical
    ON records (account_id, multihash, codec, cluster_id, expires_at, name, original_name, custom_name);
  CREATE INDEX records_pinned ON records (account_id, multihash, codec) WHERE status = 'pinned';
  CREATE INDEX records_unfinished ON records (account_id) WHERE status IN ('queued', 'pinning');
  DROP INDEX records_by_fetch;
  CREATE INDEX records_by_fetch ON records (fetch_id, status) WHERE fetch_id IS NOT NULL;
  CREATE INDEX records_waiting ON records (account_id, fetch_id) WHERE fetch_id IS NOT NULL;

  -- The account that first asked for the fetch; fetches take turns by account.
  ALTER TABLE fetches ADD COLUMN account_id TEXT NOT NULL DEFAULT '';
  UPDATE fetches SET account_id = COALESCE((SELECT account_id FROM records WHERE fetch_id = fetches.id LIMIT 1), '');
  -- running: 1 during an attempt. whole: 1 once all blocks are on this node and the waiting records are being updated.
  ALTER TABLE fetches ADD COLUMN running INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE fetches ADD COLUMN whole INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE fetches ADD COLUMN blocks INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE fetches ADD COLUMN charge INTEGER NOT NULL DEFAULT 0;
  UPDATE fetches SET charge = bytes;
  UPDATE fetches SET running = 1 WHERE next_attempt_at IS NULL
    AND EXISTS (SELECT 1 FROM records WHERE fetch_id = fetches.id AND status IN ('queued', 'pinning'));
  CREATE INDEX fetches_running ON fetches (id) WHERE running = 1;
  CREATE INDEX fetches_by_account ON fetches (account_id, next_attempt_at) WHERE next_attempt_at IS NOT NULL;

  -- Removals of all records of one content of an account: written at once, carried out in steps, and resumed after a
  -- crash.
  CREATE TABLE removals (
    id INTEGER PRIMARY KEY,
    account_id TEXT NOT NULL,
    codec INTEGER NOT NULL,
    multihash BLOB NOT NULL,
    -- null for all clusters
    cluster_id TEXT,
    -- later records stay
    created_by INTEGER NOT NULL
  ) STRICT;

  CREATE INDEX root_files_by_content ON root_files (root_id, multihash, position);

  -- Totals, so that a question for them needs no scan.
  CREATE TABLE counters (
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (kind, state)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO counters SELECT 'roots', state, COUNT(*), SUM(dag_size) FROM roots GROUP BY state;
  INSERT INTO counters SELECT 'blocks', state, COUNT(*), SUM(size) FROM blocks GROUP BY state;
  INSERT INTO counters SELECT 'records', status, COUNT(*), 0 FROM records GROUP BY status;
  INSERT INTO counters SELECT 'garbage', '', COUNT(*), 0 FROM garbage;
  INSERT INTO counters SELECT 'accounts', CASE WHEN deleted_at IS NULL THEN '' ELSE 'deleted' END, COUNT(*),
    SUM(stored_bytes) FROM accounts GROUP BY deleted_at IS NULL;
  INSERT OR IGNORE INTO counters VALUES
    ('roots', 'staging', 0, 0), ('roots', 'complete', 0, 0), ('roots', 'dropped', 0, 0),
    ('blocks', 'writing', 0, 0), ('blocks', 'durable', 0, 0), ('blocks', 'deleting', 0, 0),
    ('accounts', '', 0, 0), ('accounts', 'deleted', 0, 0),
    ('records', 'queued', 0, 0), ('records', 'pinning', 0, 0), ('records', 'pinned', 0, 0), ('records', 'failed', 0, 0);
  ${counted('roots', { state: row => `${row}.state`, bytes: row => `${row}.dag_size`, columns: ['state', 'dag_size'] })}
  ${counted('blocks', { state: row => `${row}.state`, bytes: row => `${row}.size`, columns: ['state', 'size'] })}
  ${counted('records', { state: row => `${row}.status`, bytes: () => '0', columns: ['status'] })}
  ${counted('garbage', { state: () => "''", bytes: () => '0', columns: [] })}
  ${counted('accounts', {
    state: row => `CASE WHEN ${row}.deleted_at IS NULL THEN '' ELSE 'deleted' END`,
    bytes: row => `${row}.stored_bytes`,
    columns: ['deleted_at', 'stored_bytes'],
  })}
`

interface Counted {
  /** Returns SQL for the state under which a row is counted. `row` is OLD or NEW. */
  state: (row: string) => string
  bytes: (row: string) => string
  columns: readonly string[]
}

function counted(table: string, { state, bytes, columns }: Counted): string {
  const change = (row: string, sign: string): string => `
    UPDATE counters SET count = count ${sign} 1, bytes = bytes ${sign} ${bytes(row)}
    WHERE kind = '${table}' AND state = ${state(row)};`
  const isChanged = columns.map(column => `OLD.${column} IS NOT NEW.${column}`).join(' OR ')
  const changed = `
    CREATE TRIGGER ${table}_counted_changed AFTER UPDATE OF ${columns.join(', ')} ON ${table} WHEN ${isChanged}
    BEGIN ${change('OLD', '-')} ${change('NEW', '+')} END;`
  return `
  CREATE TRIGGER ${table}_counted_added AFTER INSERT ON ${table} BEGIN ${change('NEW', '+')} END;
  CREATE TRIGGER ${table}_counted_gone AFTER DELETE ON ${table} BEGIN ${change('OLD', '-')} END;
  ${columns.length === 0 ? '' : changed}`
}

export const backendClustersSchema = `
  -- The clusters that used the directory at its last start, separated by spaces; empty for a directory of an earlier
  -- version.
  ALTER TABLE backends ADD COLUMN cluster_ids TEXT NOT NULL DEFAULT '';
`

/** Bytes that the gateway has sent for each account. */
export const egressSchema = `
  CREATE TABLE egress (
    account_id TEXT NOT NULL,
    -- 202611 for November 2026, in UTC
    month INTEGER NOT NULL,
    domain TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (account_id, month, domain)
  ) STRICT;
  CREATE TRIGGER egress_forgotten AFTER DELETE ON accounts BEGIN
    DELETE FROM egress WHERE account_id = OLD.id;
  END;
`
