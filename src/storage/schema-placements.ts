/**
 * When a root is dropped, a trigger changes its placement in the same transaction.
 * A record can have content and a hold before its status is `pinned`.
 */
export const placementsSchema = `
  CREATE TABLE placements (
    -- never reused: a job knows its row by it
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    backend_id INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    multihash BLOB NOT NULL,
    -- the account that it is scheduled for
    account_id TEXT NOT NULL,
    wanted INTEGER NOT NULL,
    -- incremented each time the placement becomes wanted or unwanted
    generation INTEGER NOT NULL,
    -- 1 once the backend has been seen to keep it
    placed INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- null if there is nothing to do
    due_at INTEGER,
    last_error TEXT,
    -- the time until which an unpin with an unknown outcome may still take effect
    unpin_until INTEGER NOT NULL DEFAULT 0,
    UNIQUE (multihash, codec, backend_id)
  ) STRICT;
  CREATE INDEX placements_by_account ON placements (backend_id, account_id, due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX placements_by_time ON placements (backend_id, due_at) WHERE due_at IS NOT NULL;
  CREATE TRIGGER placements_unwanted AFTER UPDATE OF state ON roots
    WHEN OLD.state = 'complete' AND NEW.state = 'dropped'
  BEGIN
    UPDATE placements SET wanted = 0, placed = 0, generation = generation + 1, attempts = 0, due_at = 0
    WHERE multihash = NEW.multihash AND codec = NEW.codec AND backend_id = NEW.backend_id AND wanted = 1;
  END;

  CREATE INDEX records_placing ON records (root_id) WHERE status = 'pinning' AND root_id IS NOT NULL;
  -- Content counts for an account as soon as a record holds it.
  DROP INDEX records_pinned;
  CREATE INDEX records_with_content ON records (account_id, multihash, codec) WHERE root_id IS NOT NULL;
`

export const placementsSeenSchema = `
  -- Start of the time in which its external backend has kept it without a gap; null before.
  ALTER TABLE roots ADD COLUMN placed_at INTEGER;
  UPDATE roots SET placed_at = 0 WHERE state = 'complete' AND EXISTS (
    SELECT 1 FROM placements p
    WHERE p.multihash = roots.multihash AND p.codec = roots.codec AND p.backend_id = roots.backend_id AND p.placed = 1);
  -- 1: send all of it, even if the backend claims to have it
  ALTER TABLE placements ADD COLUMN anew INTEGER NOT NULL DEFAULT 0;
  -- the time at which it became wanted, or was found missing
  ALTER TABLE placements ADD COLUMN wanted_at INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX placements_waiting ON placements (backend_id, wanted_at) WHERE wanted = 1 AND placed = 0;
  CREATE INDEX placements_leaving ON placements (backend_id) WHERE wanted = 0;
`

export const clusterChecksSchema = `
  -- 1: no check that began after placed_at has confirmed that the backend has the root, so all of it stays on this
  -- disk. Roots of older versions count as confirmed: their files may be gone already.
  ALTER TABLE roots ADD COLUMN unconfirmed INTEGER NOT NULL DEFAULT 0;
  -- Progress of the last check of each external backend: one row a backend.
  CREATE TABLE cluster_checks (
    backend_id INTEGER PRIMARY KEY,
    -- the place that was checked; another place is checked at once
    place TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    -- the last placement that was checked; null once the check ended
    last_placement INTEGER
  ) STRICT;
`

export const identicalRecordsSchema = `
  -- The index for repeated requests also finds if an account has the content of a DAG. One index less saves one page
  -- written for each record, of about ten.
  DROP INDEX records_with_content;
  DROP INDEX records_identical;
  CREATE INDEX records_identical ON records (
    account_id, multihash, codec, root_id IS NULL, cluster_id, expires_at, name, original_name, custom_name, meta);
`
