/** Schema of private records, and of the owners of roots: 0 for public roots, or the number of an account. */
export const ownersSchema = `
  ALTER TABLE accounts ADD COLUMN owner INTEGER;
  ALTER TABLE accounts ADD COLUMN default_visibility TEXT NOT NULL DEFAULT 'public';
  CREATE UNIQUE INDEX accounts_by_owner ON accounts (owner) WHERE owner IS NOT NULL;

  -- 0 for a public record, else the number of its account.
  ALTER TABLE records ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE removed_records ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;

  ALTER TABLE roots ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;
  DROP INDEX roots_by_dag;
  CREATE UNIQUE INDEX roots_by_dag ON roots (multihash, codec, backend_id) WHERE state = 'complete' AND owner = 0;
  -- Apart, so that a look-up for a stranger takes as long with private roots as without.
  CREATE UNIQUE INDEX private_roots_by_dag ON roots (multihash, owner, codec, backend_id)
    WHERE state = 'complete' AND owner <> 0;

  -- Private roots are never announced.
  DROP INDEX roots_by_announcement;
  CREATE INDEX roots_by_announcement ON roots (announced_at) WHERE state = 'complete' AND owner = 0;

  -- The starts of this node on an external catalogue, in order. is_joined: 1 once the catalogue has noted the run.
  -- revision: the newest change of the catalogue that the node has confirmed. birth: names the file of this ledger.
  -- follows: 1 while the node has all changes, and later ones wait for it.
  CREATE TABLE catalogue_runs (
    run TEXT NOT NULL,
    is_joined INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 0,
    birth TEXT,
    follows INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  -- Public roots up to this id wait until the node has compared their owners with the catalogue. Without a row none waits.
  CREATE TABLE uncompared (root_id INTEGER NOT NULL) STRICT;

  -- A fetch belongs to the owner of its root.
  ALTER TABLE fetches RENAME TO fetches_before;
  CREATE TABLE fetches (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    backend_id INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    multihash BLOB NOT NULL,
    owner INTEGER NOT NULL DEFAULT 0,
    -- the account whose private blocks the fetch may use: the owner, or 0 for none
    possessor INTEGER NOT NULL DEFAULT 0,
    root_id INTEGER NOT NULL,
    -- origins to ask first: a JSON array of multiaddrs and gateway URLs
    origins TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    -- blocks left by the last attempt; they count against the accounts that wait
    blocks INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    charge INTEGER NOT NULL DEFAULT 0,
    -- the account that first asked for the fetch; fetches take turns by account
    account_id TEXT NOT NULL DEFAULT '',
    -- running: 1 during an attempt. whole: 1 once all blocks are on this node and the waiting records are being updated.
    running INTEGER NOT NULL DEFAULT 0,
    whole INTEGER NOT NULL DEFAULT 0,
    UNIQUE (multihash, codec, backend_id, owner)
  ) STRICT;
  INSERT INTO fetches (id, backend_id, codec, multihash, root_id, origins, attempts, last_error, blocks, bytes, charge,
      account_id, running, whole)
    SELECT id, backend_id, codec, multihash, root_id, origins, attempts, last_error, blocks, bytes, charge, account_id,
      running, whole
    FROM fetches_before;
  -- No id is given twice.
  DELETE FROM sqlite_sequence WHERE name = 'fetches';
  UPDATE sqlite_sequence SET name = 'fetches' WHERE name = 'fetches_before';
  DROP TABLE fetches_before;
  CREATE INDEX fetches_by_root ON fetches (root_id);
  CREATE INDEX fetches_running ON fetches (id) WHERE running = 1;
  CREATE TRIGGER fetches_gone AFTER DELETE ON fetches
  BEGIN
    DELETE FROM jobs WHERE kind = 'fetch' AND key = OLD.id;
  END;

  -- The last root of a DAG ends its placement, not the root of one owner.
  DROP TRIGGER placements_unwanted;
  CREATE TRIGGER placements_unwanted AFTER UPDATE OF state ON roots
    WHEN OLD.state = 'complete' AND NEW.state = 'dropped' AND NOT EXISTS (
      SELECT 1 FROM roots WHERE state = 'complete' AND multihash = NEW.multihash AND codec = NEW.codec
        AND backend_id = NEW.backend_id AND owner = 0)
      AND NOT EXISTS (
      SELECT 1 FROM roots WHERE state = 'complete' AND multihash = NEW.multihash AND codec = NEW.codec
        AND backend_id = NEW.backend_id AND owner <> 0)
  BEGIN
    INSERT INTO jobs (kind, key, queue, account_id, due_at)
      SELECT 'placement', id, CAST(backend_id AS TEXT), account_id, 0 FROM placements
      WHERE multihash = NEW.multihash AND codec = NEW.codec AND backend_id = NEW.backend_id AND wanted = 1
      ON CONFLICT (kind, key) DO UPDATE SET due_at = 0, attempts = 0;
    UPDATE placements SET wanted = 0, placed = 0, generation = generation + 1
    WHERE multihash = NEW.multihash AND codec = NEW.codec AND backend_id = NEW.backend_id AND wanted = 1;
  END;
`
