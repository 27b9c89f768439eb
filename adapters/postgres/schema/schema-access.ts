/** `seq` orders rows created in the same millisecond. Text is compared by bytes, not by locale. */
export const accessSchema = `
  CREATE TABLE accounts (
    id TEXT COLLATE "C" PRIMARY KEY,
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    email TEXT NOT NULL,
    -- the email with A to Z in lower case
    email_key TEXT COLLATE "C" NOT NULL UNIQUE,
    name TEXT,
    plan TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'user')),
    default_cluster TEXT,
    -- scrypt hash with its parameters and salt; null for an account that has only keys
    password_hash TEXT,
    disabled BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    -- set while the account is being deleted: its contents go first, in steps, and this row last
    deleted_at BIGINT,
    -- counters, updated in the transaction that changes what they count; the lock of this row makes quotas exact
    pins BIGINT NOT NULL DEFAULT 0,
    expiring_pins BIGINT NOT NULL DEFAULT 0,
    stored_bytes BIGINT NOT NULL DEFAULT 0
  ) WITH (fillfactor = 70);
  CREATE INDEX accounts_by_age ON accounts (created_at, seq) WHERE deleted_at IS NULL;
  CREATE INDEX accounts_deleted ON accounts (deleted_at) WHERE deleted_at IS NOT NULL;
  CREATE INDEX accounts_owners ON accounts (created_at, seq) WHERE role = 'owner';

  CREATE TABLE api_keys (
    id TEXT COLLATE "C" PRIMARY KEY,
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    account_id TEXT COLLATE "C" NOT NULL,
    -- the key that created it; null if a session, the owner or a command did
    parent_id TEXT COLLATE "C",
    name TEXT COLLATE "C" NOT NULL,
    label TEXT,
    -- SHA-256 of the whole secret; the secret itself is never stored
    hash BYTEA NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    scopes TEXT[] NOT NULL,
    ip_allowlist TEXT[] NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT,
    -- upload tokens only: the fixed parameters of uploads, and the allowed and actual number of uploads
    upload JSON,
    max_uses BIGINT,
    uses BIGINT NOT NULL DEFAULT 0,
    is_token BOOLEAN NOT NULL,
    UNIQUE (account_id, name)
  );
  CREATE INDEX api_keys_by_parent ON api_keys (parent_id) WHERE parent_id IS NOT NULL;
  CREATE INDEX api_keys_by_age ON api_keys (account_id, is_token, created_at, seq);
  CREATE INDEX api_keys_by_expiry ON api_keys (account_id, is_token, expires_at);

  CREATE TABLE sessions (
    id TEXT COLLATE "C" PRIMARY KEY,
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    account_id TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
  );
  CREATE INDEX sessions_by_account ON sessions (account_id, created_at, seq);
  CREATE INDEX sessions_by_expiry ON sessions (expires_at);

  CREATE TABLE second_factors (
    account_id TEXT COLLATE "C" PRIMARY KEY,
    secret BYTEA NOT NULL,
    enabled_at BIGINT,
    -- the time step of the newest accepted code; no code is accepted twice
    last_step BIGINT NOT NULL
  );
  CREATE TABLE recovery_codes (
    account_id TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (account_id, hash)
  );

  -- Notifies all nodes when the transaction commits, once for all changed rows: credentials in their caches may be
  -- stale.
  CREATE FUNCTION credentials_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_notify('holdfast_credentials', '');
    RETURN NULL;
  END $$;
  CREATE TRIGGER accounts_changed AFTER DELETE OR UPDATE OF plan, role, disabled, deleted_at, default_cluster
    ON accounts FOR EACH ROW EXECUTE FUNCTION credentials_changed();
  CREATE TRIGGER api_keys_changed AFTER DELETE OR UPDATE OF hash, scopes, ip_allowlist, expires_at
    ON api_keys FOR EACH ROW EXECUTE FUNCTION credentials_changed();
  CREATE TRIGGER sessions_ended AFTER DELETE
    ON sessions FOR EACH ROW EXECUTE FUNCTION credentials_changed();
`
