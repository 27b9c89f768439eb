/** Times are in ms since the epoch, by the nodes' clocks. Leases use the database's clock. */
export const contentSchema = `
  -- A complete DAG on a backend.
  CREATE TABLE roots (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    backend_id INTEGER NOT NULL,
    codec BIGINT NOT NULL,
    multihash BYTEA NOT NULL,
    content_size BIGINT NOT NULL,
    dag_size BIGINT NOT NULL,
    blocks BIGINT NOT NULL,
    charge BIGINT NOT NULL,
    file_count BIGINT NOT NULL,
    -- true once all of its files are in root_files
    listed BOOLEAN NOT NULL DEFAULT FALSE,
    -- when the network was last told who has it
    announced_at BIGINT,
    UNIQUE (multihash, codec, backend_id)
  );
  -- The files below a directory, in the order in which they were imported.
  CREATE TABLE root_files (
    root_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    path TEXT NOT NULL,
    codec BIGINT NOT NULL,
    multihash BYTEA NOT NULL,
    size BIGINT NOT NULL,
    PRIMARY KEY (root_id, position)
  );
  CREATE INDEX root_files_by_content ON root_files (root_id, multihash, position);
  -- Removed directories whose files are still to be deleted.
  CREATE TABLE roots_gone (root_id BIGINT PRIMARY KEY);

  -- Holds of the ledgers. 'placing': until a commit uses it. 'void': until the ledger has released it.
  -- No id is given twice, so a late commit finds its hold void or missing.
  CREATE SEQUENCE hold_numbers;
  CREATE TABLE holds (
    id TEXT COLLATE "C" PRIMARY KEY,
    node TEXT NOT NULL,
    -- null while only part of the DAG is held
    root_id BIGINT,
    state TEXT NOT NULL CHECK (state IN ('placing', 'used', 'void')),
    placed_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX holds_void ON holds (node, id) WHERE state = 'void';
  CREATE INDEX holds_placing ON holds (placed_at) WHERE state = 'placing';
  CREATE INDEX holds_by_root ON holds (root_id) WHERE state <> 'void';

  -- A DAG that one node fetches into its ledger, for all records that wait for it.
  CREATE TABLE fetches (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- the account that asked first; accounts take turns
    account_id TEXT COLLATE "C" NOT NULL,
    backend_id INTEGER NOT NULL,
    codec BIGINT NOT NULL,
    multihash BYTEA NOT NULL,
    node TEXT COLLATE "C" NOT NULL,
    -- in that node's ledger
    root_id BIGINT NOT NULL,
    hold_id TEXT COLLATE "C" NOT NULL,
    origins TEXT[] NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    -- null while the fetch runs, and after the last attempt
    next_attempt_at BIGINT,
    last_error TEXT,
    blocks BIGINT NOT NULL DEFAULT 0,
    bytes BIGINT NOT NULL DEFAULT 0,
    charge BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    running BOOLEAN NOT NULL DEFAULT FALSE,
    whole BOOLEAN NOT NULL DEFAULT FALSE,
    UNIQUE (multihash, codec, backend_id)
  );
  CREATE INDEX fetches_by_account ON fetches (node, account_id, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
  CREATE INDEX fetches_by_time ON fetches (node, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
  CREATE INDEX fetches_running ON fetches (node, id) WHERE running;

  CREATE TABLE records (
    id TEXT COLLATE "C" PRIMARY KEY,
    -- increases in the order of insertion
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    account_id TEXT COLLATE "C" NOT NULL,
    cluster_id TEXT NOT NULL,
    cid TEXT NOT NULL,
    codec BIGINT NOT NULL,
    multihash BYTEA NOT NULL,
    root_id BIGINT,
    -- the hold on its content, in the ledger of the node that has it
    hold_id TEXT COLLATE "C",
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    status_at BIGINT NOT NULL,
    status_code TEXT,
    status_reason TEXT,
    fetch_id BIGINT,
    name TEXT,
    original_name TEXT,
    custom_name TEXT,
    meta TEXT,
    size BIGINT NOT NULL,
    dag_size BIGINT NOT NULL,
    charge BIGINT NOT NULL,
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    -- a hash of everything that two records must share to be duplicates
    identity BYTEA NOT NULL,
    -- the case-folded name, and the search words of name and metadata
    folded_name TEXT,
    words TEXT[] COLLATE "C" NOT NULL
  );
  CREATE INDEX records_by_account ON records (account_id, created_at DESC, id DESC) INCLUDE (expires_at);
  CREATE INDEX records_expiring ON records (account_id, created_at DESC, id DESC) INCLUDE (expires_at)
    WHERE expires_at IS NOT NULL;
  CREATE INDEX records_by_content
    ON records (account_id, multihash, created_at DESC, id DESC) INCLUDE (codec, expires_at);
  CREATE INDEX records_in_order ON records (account_id, seq);
  CREATE INDEX records_by_account_expiry ON records (account_id, expires_at) WHERE expires_at IS NOT NULL;
  CREATE INDEX records_by_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;
  CREATE INDEX records_identical ON records (account_id, identity);
  CREATE INDEX records_with_content ON records (account_id, multihash, codec) INCLUDE (charge) WHERE root_id IS NOT NULL;
  CREATE INDEX records_unfinished ON records (account_id) WHERE status IN ('queued', 'pinning');
  CREATE INDEX records_failed ON records (id) WHERE status = 'failed';
  CREATE INDEX records_by_fetch ON records (fetch_id, status) WHERE fetch_id IS NOT NULL;
  CREATE INDEX records_waiting ON records (account_id, fetch_id) WHERE fetch_id IS NOT NULL;
  CREATE INDEX records_placing ON records (root_id) WHERE status = 'pinning' AND root_id IS NOT NULL;
  CREATE INDEX records_by_root ON records (root_id, id) WHERE root_id IS NOT NULL;
  CREATE INDEX records_by_words ON records USING gin (words);

  -- Requested removals: the records of an account with this content. Removed in steps.
  CREATE TABLE removals (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL,
    codec BIGINT NOT NULL,
    multihash BYTEA NOT NULL,
    -- null for all clusters
    cluster_id TEXT,
    -- the time of the request: newer records stay
    created_by BIGINT NOT NULL
  );

  -- What external backends must keep: one row for each DAG of each backend.
  CREATE TABLE placements (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    backend_id INTEGER NOT NULL,
    codec BIGINT NOT NULL,
    multihash BYTEA NOT NULL,
    account_id TEXT COLLATE "C" NOT NULL,
    wanted BOOLEAN NOT NULL,
    -- incremented each time it becomes wanted or unwanted
    generation BIGINT NOT NULL,
    placed BOOLEAN NOT NULL DEFAULT FALSE,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT,
    -- the node that works on it, until this time by the database's clock
    leased_by TEXT,
    leased_until TIMESTAMPTZ,
    last_error TEXT,
    -- until when an unpin without an answer may still take effect
    unpin_until BIGINT NOT NULL DEFAULT 0,
    UNIQUE (multihash, codec, backend_id)
  );
  CREATE INDEX placements_by_account ON placements (backend_id, account_id, due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX placements_by_time ON placements (backend_id, due_at) WHERE due_at IS NOT NULL;

  -- The data directories whose ledgers hold the content.
  CREATE TABLE nodes (name TEXT COLLATE "C" PRIMARY KEY);
`

export const placementsSeenSchema = `
  -- true if all blocks must be sent, even if the backend reports that it has them
  ALTER TABLE placements ADD COLUMN anew BOOLEAN NOT NULL DEFAULT FALSE;
  -- since when the backend should have it but does not
  ALTER TABLE placements ADD COLUMN wanted_at BIGINT NOT NULL DEFAULT 0;
  CREATE INDEX placements_waiting ON placements (backend_id, wanted_at) WHERE wanted AND NOT placed;
  CREATE INDEX placements_leaving ON placements (backend_id) WHERE NOT wanted;
`
