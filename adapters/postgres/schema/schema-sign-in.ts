/** Sign-in state that all nodes share. The end times of windows use the database's clock. */
export const signInSchema = `
  -- The name of the key that seals secrets in this database. A node with another key cannot start.
  CREATE TABLE sealing_key (id TEXT COLLATE "C" PRIMARY KEY);

  -- Keys that sign session tokens.
  CREATE TABLE signing_keys (
    kid TEXT COLLATE "C" PRIMARY KEY,
    -- sealed
    secret BYTEA NOT NULL,
    created_at BIGINT NOT NULL
  );

  -- Failed attempts at secrets. A window begins with the first attempt.
  CREATE TABLE attempts (
    kind TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    used BIGINT NOT NULL,
    ends_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (kind, key)
  ) WITH (fillfactor = 70);
  CREATE INDEX attempts_by_end ON attempts (ends_at);

  -- Logins with a checked password that wait for the second factor.
  CREATE TABLE login_challenges (
    hash BYTEA PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL,
    password_hash TEXT NOT NULL,
    expires_at BIGINT NOT NULL
  );
  CREATE INDEX login_challenges_by_expiry ON login_challenges (expires_at);

  -- Request windows: requests granted to all nodes, and by the last grant.
  -- Unlogged, so a commit waits for no disk. A crash of the server only empties the windows.
  CREATE UNLOGGED TABLE request_windows (
    key TEXT COLLATE "C" PRIMARY KEY,
    most BIGINT NOT NULL,
    used BIGINT NOT NULL,
    granted BIGINT NOT NULL,
    ends_at TIMESTAMPTZ NOT NULL
  ) WITH (fillfactor = 50);
  CREATE INDEX request_windows_by_end ON request_windows (ends_at);
`

/** Links that set a password, one at most for each account. */
export const passwordLinksSchema = `
  CREATE TABLE password_links (
    account_id TEXT COLLATE "C" PRIMARY KEY,
    -- SHA-256 of the token; the token itself is never stored
    hash BYTEA NOT NULL UNIQUE,
    expires_at BIGINT NOT NULL
  );
`

/** Users of a sign-in provider, and their accounts. */
export const identitiesSchema = `
  CREATE TABLE identities (
    issuer TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    account_id TEXT COLLATE "C" NOT NULL,
    -- the last sign-in or refresh; null once the plan of that sign-in has ended
    confirmed_at BIGINT,
    -- sealed with the data key
    refresh_token BYTEA,
    refresh_at BIGINT,
    PRIMARY KEY (issuer, subject)
  );
  CREATE UNIQUE INDEX identities_by_account ON identities (account_id);
  CREATE INDEX identities_by_age ON identities (confirmed_at) WHERE confirmed_at IS NOT NULL;
  CREATE INDEX identities_by_refresh ON identities (refresh_at) WHERE refresh_at IS NOT NULL;
`
