import { changes040Schema } from './schema-0-4-0.ts'
import { auditSchema } from './schema-audit.ts'
import {
  catalogueMoveSchema,
  catalogueNodeSchema,
  cataloguePastSchema,
  knownSetBackSchema,
} from './schema-external-catalogue.ts'
import { backendClustersSchema, egressSchema, holdsSchema } from './schema-holds.ts'
import { usersOfProvidersSchema } from './schema-identities.ts'
import { bulkSchema, jobsSchema } from './schema-jobs.ts'
import { announcedAsSchema, nodeIdentitySchema } from './schema-node-identity.ts'
import { linksSchema } from './schema-password-links.ts'
import {
  clusterChecksSchema,
  identicalRecordsSchema,
  placementsSchema,
  placementsSeenSchema,
} from './schema-placements.ts'
import { searchSchema } from './schema-search.ts'
import { searchBlocksSchema } from './schema-search-blocks.ts'
import { failedDeliveriesSchema, webhooksSchema } from './schema-webhooks.ts'
import { withheldSchema } from './schema-withheld.ts'

/**
 * Versions of the schema. One transaction applies the missing entries in order. Never edit a released entry.
 * Times are milliseconds since the epoch, and sizes are in bytes. Multihashes are complete: code, length and digest.
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
    -- scrypt hash with parameters and salt; null for an account with keys only
    password_hash TEXT,
    disabled INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    -- counters, updated in the transaction that changes what they count
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
    -- the first characters of the secret, by which its owner recognises it
    prefix TEXT NOT NULL,
    scopes TEXT NOT NULL,
    ip_allowlist TEXT NOT NULL DEFAULT '[]',
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    UNIQUE (account_id, name)
  ) STRICT;

  -- Sessions that have not been signed out.
  CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX sessions_by_account ON sessions (account_id);
  CREATE INDEX sessions_by_expiry ON sessions (expires_at);

  -- Time-based codes (TOTP). enabled_at is null during setup.
  CREATE TABLE second_factors (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id),
    secret BLOB NOT NULL,
    enabled_at INTEGER,
    -- time step of the newest accepted code, so that no code is accepted twice
    last_step INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE recovery_codes (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    hash BLOB NOT NULL,
    PRIMARY KEY (account_id, hash)
  ) STRICT, WITHOUT ROWID;

  -- Directories of blocks: 0 is the data directory of the engine, the others are directories of clusters.
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
    -- the latest end of the root's holds; null if one has no end
    live_until INTEGER,
    -- time of the last announcement to the network
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

  -- The blocks that each root needs: a set, whatever the number of links.
  CREATE TABLE root_blocks (
    root_id INTEGER NOT NULL,
    block_id INTEGER NOT NULL,
    PRIMARY KEY (root_id, block_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX root_blocks_by_block ON root_blocks (block_id);

  -- Files below a directory root, in the order of their import.
  CREATE TABLE root_files (
    root_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    path TEXT NOT NULL,
    codec INTEGER NOT NULL,
    multihash BLOB NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (root_id, position)
  ) STRICT, WITHOUT ROWID;

  -- Blocks without a root, which the collector deletes later.
  CREATE TABLE garbage (
    block_id INTEGER PRIMARY KEY,
    freed_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX garbage_by_time ON garbage (freed_at);

  -- A DAG that the node fetches from the network into a staging root, for all records that wait for it.
  CREATE TABLE fetches (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    backend_id INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    multihash BLOB NOT NULL,
    root_id INTEGER NOT NULL,
    -- origins to ask first: a JSON array of multiaddrs and gateway URLs
    origins TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- null during an attempt, and after the last one
    next_attempt_at INTEGER,
    last_error TEXT,
    -- bytes of the blocks left by the last attempt; they count against the accounts that wait
    bytes INTEGER NOT NULL DEFAULT 0,
    UNIQUE (multihash, codec, backend_id)
  ) STRICT;
  CREATE INDEX fetches_by_root ON fetches (root_id);
  CREATE INDEX fetches_by_time ON fetches (next_attempt_at) WHERE next_attempt_at IS NOT NULL;

  -- One row per upload or pin request. "name" is the name of the upload, "cid" the CID as it was sent.
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
    -- time and reason of the last change of status
    status_at INTEGER NOT NULL,
    status_reason TEXT,
    -- the fetch that brings the content; null once the content is on this node
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
  -- Id of the key that seals stored secrets. The key is a file beside the database. One row once the key exists.
  CREATE TABLE data_key (id TEXT PRIMARY KEY) STRICT;
  `,
  `
  -- A deleted account: its keys, sessions and pins are removed in steps, and this row last.
  ALTER TABLE accounts ADD COLUMN deleted_at INTEGER;
  CREATE INDEX accounts_by_age ON accounts (created_at) WHERE deleted_at IS NULL;
  CREATE INDEX accounts_deleted ON accounts (deleted_at) WHERE deleted_at IS NOT NULL;
  CREATE INDEX accounts_owners ON accounts (created_at) WHERE role = 'owner';

  -- The key that created this one; null if a session, the owner or a command did.
  ALTER TABLE api_keys ADD COLUMN parent_id TEXT;
  CREATE INDEX api_keys_by_parent ON api_keys (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX api_keys_by_age ON api_keys (account_id, created_at);
  CREATE INDEX api_keys_by_expiry ON api_keys (account_id, expires_at);

  DROP INDEX sessions_by_account;
  CREATE INDEX sessions_by_account ON sessions (account_id, created_at);
  `,
  `
  -- 1: the secret is sealed with the data key; 0: it is in clear text, as in older versions, until the next start.
  ALTER TABLE second_factors ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX second_factors_in_clear ON second_factors (account_id) WHERE sealed = 0;
  `,
  `
  -- Text of the identity file in the directory; null until a start has written one.
  ALTER TABLE backends ADD COLUMN identity TEXT;
  CREATE UNIQUE INDEX backends_by_identity ON backends (identity);
  `,
  holdsSchema,
  placementsSchema,
  `
  -- Blocks being written, and lost blocks, which complete roots still need.
  CREATE INDEX blocks_writing ON blocks (id) WHERE state = 'writing';
  `,
  `
  -- The stable code for programs; the reason beside it is for people.
  ALTER TABLE records ADD COLUMN status_code TEXT;
  UPDATE records SET status_code = substr(status_reason, 1, instr(status_reason, ': ') - 1)
  WHERE status_reason GLOB '[A-Z]*: *' AND substr(status_reason, 1, instr(status_reason, ': ') - 1) NOT GLOB '*[^A-Z_]*';
  `,
  `
  -- Progress of the scheduled verification: one row.
  CREATE TABLE verification (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- id of the last block that was checked; 0 between two rounds
    last_block INTEGER NOT NULL,
    blocks INTEGER NOT NULL,
    damaged INTEGER NOT NULL,
    -- end of the last round, or the first start
    ended_at INTEGER NOT NULL
  ) STRICT;
  `,
  searchSchema,
  webhooksSchema,
  `
  -- Fetches in the order of their requests.
  CREATE INDEX fetches_waiting ON fetches (id) WHERE next_attempt_at IS NOT NULL;
  `,
  `
  -- For upload tokens: their fixed settings as JSON, their limit of uploads, and the uploads so far. Null for other
  -- keys.
  ALTER TABLE api_keys ADD COLUMN upload TEXT;
  ALTER TABLE api_keys ADD COLUMN max_uses INTEGER;
  ALTER TABLE api_keys ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;
  DROP INDEX api_keys_by_expiry;
  CREATE INDEX api_keys_by_expiry ON api_keys (account_id, max_uses IS NULL, expires_at);
  DROP INDEX api_keys_by_age;
  CREATE INDEX api_keys_by_age ON api_keys (account_id, max_uses IS NULL, created_at);
  `,
  catalogueNodeSchema,
  placementsSeenSchema,
  catalogueMoveSchema,
  identicalRecordsSchema,
  cataloguePastSchema,
  clusterChecksSchema,
  announcedAsSchema,
  withheldSchema,
  backendClustersSchema,
  nodeIdentitySchema,
  jobsSchema,
  searchBlocksSchema,
  bulkSchema,
  egressSchema,
  linksSchema,
  usersOfProvidersSchema,
  auditSchema,
  failedDeliveriesSchema,
  knownSetBackSchema,
  changes040Schema,
]
