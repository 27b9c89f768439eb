import { backendClustersSchema, holdsSchema } from './schema-holds.ts'
import { announcedAsSchema, nodeIdentitySchema } from './schema-node-identity.ts'
import { clusterChecksSchema, placementsSchema, placementsSeenSchema } from './schema-placements.ts'
import { searchSchema } from './schema-search.ts'
import { webhooksSchema } from './schema-webhooks.ts'
import { withheldSchema } from './schema-withheld.ts'

/**
 * The schema, one entry a version, applied in order inside one transaction. Add an entry, never edit one that shipped.
 * Times are milliseconds since the epoch, sizes bytes, multihashes whole (code, length, digest).
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE accounts (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL UNIQUE COLLATE NOCASE,
    name TEXT,
    plan TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'user')),
    default_cluster TEXT,
    -- by scrypt, parameters and salt included; null for an account that has keys only
    password_hash TEXT,
    disabled INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    -- counters, kept in the transaction that changes what they count
    pins INTEGER NOT NULL DEFAULT 0,
    expiring_pins INTEGER NOT NULL DEFAULT 0,
    stored_bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    label TEXT,
    -- SHA-256 of the whole secret; the secret itself is never stored
    hash BLOB NOT NULL UNIQUE,
    -- the first characters of the secret, to recognise it by
    prefix TEXT NOT NULL,
    scopes TEXT NOT NULL,
    ip_allowlist TEXT NOT NULL DEFAULT '[]',
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    UNIQUE (account_id, name)
  ) STRICT;

  -- Signed in and not ended since.
  CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX sessions_by_account ON sessions (account_id);
  CREATE INDEX sessions_by_expiry ON sessions (expires_at);

  -- Codes by time (TOTP). Null in enabled_at while it is being set up.
  CREATE TABLE second_factors (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id),
    secret BLOB NOT NULL,
    enabled_at INTEGER,
    -- the time step of the newest code that was taken: none is taken twice
    last_step INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE recovery_codes (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    hash BLOB NOT NULL,
    PRIMARY KEY (account_id, hash)
  ) STRICT, WITHOUT ROWID;

  -- Where blocks live: 0 is the engine's own data directory, others belong to clusters with one of their own.
  CREATE TABLE backends (
    id INTEGER PRIMARY KEY,
    data_dir TEXT NOT NULL UNIQUE
  ) STRICT;

  -- A DAG on a backend. Codec and multihash are null while it is being staged.
  CREATE TABLE roots (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    backend_id INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('staging', 'complete', 'dropped')),
    codec INTEGER,
    multihash BLOB,
    content_size INTEGER NOT NULL DEFAULT 0,
    dag_size INTEGER NOT NULL DEFAULT 0,
    file_count INTEGER NOT NULL DEFAULT 0,
    -- the latest expiry of the root's records, null for none of them expiring
    live_until INTEGER,
    -- when the network was last told who has it
    announced_at INTEGER,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX roots_by_dag ON roots (multihash, codec, backend_id) WHERE state = 'complete';
  CREATE INDEX roots_by_announcement ON roots (announced_at) WHERE state = 'complete';
  CREATE INDEX roots_unfinished ON roots (state) WHERE state <> 'complete';

  CREATE TABLE blocks (
    id INTEGER PRIMARY KEY,
    backend_id INTEGER NOT NULL,
    multihash BLOB NOT NULL,
    size INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('writing', 'durable', 'deleting')),
    -- 1: the bytes are in small_blocks; 0: in a file
    inline INTEGER NOT NULL,
    UNIQUE (multihash, backend_id)
  ) STRICT;
  CREATE INDEX blocks_deleting ON blocks (id) WHERE state = 'deleting';

  CREATE TABLE small_blocks (
    block_id INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
  ) STRICT;

  -- Which root needs which block: a set, however many links there are.
  CREATE TABLE root_blocks (
    root_id INTEGER NOT NULL,
    block_id INTEGER NOT NULL,
    PRIMARY KEY (root_id, block_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX root_blocks_by_block ON root_blocks (block_id);

  -- The files below a directory root, in the order they were imported.
  CREATE TABLE root_files (
    root_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    path TEXT NOT NULL,
    codec INTEGER NOT NULL,
    multihash BLOB NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (root_id, position)
  ) STRICT, WITHOUT ROWID;

  -- Blocks that no root names any more, waiting for the collector.
  CREATE TABLE garbage (
    block_id INTEGER PRIMARY KEY,
    freed_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX garbage_by_time ON garbage (freed_at);

  -- A DAG that is being fetched from others into a staging root, for all records that wait for it.
  CREATE TABLE fetches (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    backend_id INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    multihash BLOB NOT NULL,
    root_id INTEGER NOT NULL,
    -- where to ask first: a JSON array of multiaddrs and gateway URLs
    origins TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- null while it runs, and once nothing more is tried
    next_attempt_at INTEGER,
    last_error TEXT,
    -- of the blocks that the last attempt left behind; they count for those who wait
    bytes INTEGER NOT NULL DEFAULT 0,
    UNIQUE (multihash, codec, backend_id)
  ) STRICT;
  CREATE INDEX fetches_by_root ON fetches (root_id);
  CREATE INDEX fetches_by_time ON fetches (next_attempt_at) WHERE next_attempt_at IS NOT NULL;

  -- One row per upload or pin request. "name" is what the upload was called, "cid" as it was sent.
  CREATE TABLE records (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    cluster_id TEXT NOT NULL,
    cid TEXT NOT NULL,
    codec INTEGER NOT NULL,
    multihash BLOB NOT NULL,
    root_id INTEGER,
    type TEXT NOT NULL CHECK (type IN ('file', 'directory', 'pin')),
    status TEXT NOT NULL CHECK (status IN ('queued', 'pinning', 'pinned', 'failed')),
    -- when and why the status became what it is
    status_at INTEGER NOT NULL,
    status_reason TEXT,
    -- the fetch that is to bring the content; null once it is here
    fetch_id INTEGER,
    name TEXT,
    original_name TEXT,
    custom_name TEXT,
    size INTEGER NOT NULL,
    dag_size INTEGER NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX records_by_account ON records (account_id, created_at DESC, id DESC);
  CREATE INDEX records_by_content ON records (account_id, multihash);
  CREATE INDEX records_by_root ON records (root_id, expires_at);
  CREATE INDEX records_by_fetch ON records (fetch_id) WHERE fetch_id IS NOT NULL;
  CREATE INDEX records_by_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;
  `,
  `
  -- Names the key, kept in a file beside the database, with which stored secrets are sealed: one row once it was made.
  CREATE TABLE data_key (id TEXT PRIMARY KEY) STRICT;
  `,
  `
  -- An account that is to go: what it had is removed in steps, the row last.
  ALTER TABLE accounts ADD COLUMN deleted_at INTEGER;
  CREATE INDEX accounts_by_age ON accounts (created_at) WHERE deleted_at IS NULL;
  CREATE INDEX accounts_deleted ON accounts (deleted_at) WHERE deleted_at IS NOT NULL;
  CREATE INDEX accounts_owners ON accounts (created_at) WHERE role = 'owner';

  -- The key that minted it; null if a session, the owner or a command did.
  ALTER TABLE api_keys ADD COLUMN parent_id TEXT;
  CREATE INDEX api_keys_by_parent ON api_keys (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX api_keys_by_age ON api_keys (account_id, created_at);
  CREATE INDEX api_keys_by_expiry ON api_keys (account_id, expires_at);

  DROP INDEX sessions_by_account;
  CREATE INDEX sessions_by_account ON sessions (account_id, created_at);
  `,
  `
  -- 1: the secret is sealed with the data key; 0: it is in clear, as all were before, until the next start.
  ALTER TABLE second_factors ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX second_factors_in_clear ON second_factors (account_id) WHERE sealed = 0;
  `,
  `
  -- What a file in the directory says, by which it is recognised; null until a start has written one.
  ALTER TABLE backends ADD COLUMN identity TEXT;
  CREATE UNIQUE INDEX backends_by_identity ON backends (identity);
  `,
  holdsSchema,
  placementsSchema,
  `
  -- Being written, or found lost: complete roots need the latter.
  CREATE INDEX blocks_writing ON blocks (id) WHERE state = 'writing';
  `,
  `
  -- What programs go by of the reason, which is for people.
  ALTER TABLE records ADD COLUMN status_code TEXT;
  UPDATE records SET status_code = substr(status_reason, 1, instr(status_reason, ': ') - 1)
  WHERE status_reason GLOB '[A-Z]*: *' AND substr(status_reason, 1, instr(status_reason, ': ') - 1) NOT GLOB '*[^A-Z_]*';
  `,
  `
  -- How far the verification that goes on by itself has come: one row.
  CREATE TABLE verification (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- of the last block that was checked; 0 between two rounds
    last_block INTEGER NOT NULL,
    blocks INTEGER NOT NULL,
    damaged INTEGER NOT NULL,
    -- when the last round ended, or the first start was
    ended_at INTEGER NOT NULL
  ) STRICT;
  `,
  searchSchema,
  webhooksSchema,
  `
  -- In the order in which they were asked for.
  CREATE INDEX fetches_waiting ON fetches (id) WHERE next_attempt_at IS NOT NULL;
  `,
  `
  -- Of an upload token: what it fixes, as JSON, how many uploads it is for, and how many there were. Null for other keys.
  ALTER TABLE api_keys ADD COLUMN upload TEXT;
  ALTER TABLE api_keys ADD COLUMN max_uses INTEGER;
  ALTER TABLE api_keys ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;
  DROP INDEX api_keys_by_expiry;
  CREATE INDEX api_keys_by_expiry ON api_keys (account_id, max_uses IS NULL, expires_at);
  DROP INDEX api_keys_by_age;
  CREATE INDEX api_keys_by_age ON api_keys (account_id, max_uses IS NULL, created_at);
  `,
  `
  -- As what a catalogue that is kept elsewhere knows this directory: one row once there is such a catalogue.
  CREATE TABLE catalogue_node (name TEXT PRIMARY KEY) STRICT;
  `,
  placementsSeenSchema,
  `
  -- Under which name the catalogue is being moved elsewhere: one row until it is there, and the directory uses it.
  CREATE TABLE catalogue_move (name TEXT PRIMARY KEY) STRICT;
  `,
  `
  -- Whether an account has the content of a DAG is found by the index that repeats are found by: it is one page less to be
  -- written for each record, of some ten.
  DROP INDEX records_with_content;
  DROP INDEX records_identical;
  CREATE INDEX records_identical ON records (
    account_id, multihash, codec, root_id IS NULL, cluster_id, expires_at, name, original_name, custom_name, meta);
  `,
  `
  -- Which past that catalogue had when it was last connected to, and what was other than before, as long as nobody has
  -- looked: one row at most.
  CREATE TABLE catalogue_past (
    system TEXT NOT NULL,
    timeline TEXT NOT NULL,
    "database" TEXT NOT NULL,
    problem TEXT
  ) STRICT;
  `,
  clusterChecksSchema,
  announcedAsSchema,
  withheldSchema,
  backendClustersSchema,
  nodeIdentitySchema,
]
