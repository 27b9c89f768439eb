/** What the nodes have to know of each other to let people and programs in. Ends are by the database's clock. */
export const signInSchema = `
  -- Names the key with which all nodes seal what they keep here, so that none begins with another.
  CREATE TABLE sealing_key (id TEXT COLLATE "C" PRIMARY KEY);

  -- What session tokens are signed with.
  CREATE TABLE signing_keys (
    kid TEXT COLLATE "C" PRIMARY KEY,
    -- sealed
    secret BYTEA NOT NULL,
    created_at BIGINT NOT NULL
  );

  -- Attempts at secrets that have not turned out right, in windows that begin with the first.
  CREATE TABLE attempts (
    kind TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    used BIGINT NOT NULL,
    ends_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (kind, key)
  ) WITH (fillfactor = 70);
  CREATE INDEX attempts_by_end ON attempts (ends_at);

  -- Logins between password and code.
  CREATE TABLE login_challenges (
    hash BYTEA PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL,
    password_hash TEXT NOT NULL,
    expires_at BIGINT NOT NULL
  );
  CREATE INDEX login_challenges_by_expiry ON login_challenges (expires_at);

  -- Windows of requests: how many of them nodes were granted, to all together and by the last of them. Nothing is
  -- lost if they are, so no commit of them waits for a disk.
  CREATE UNLOGGED TABLE request_windows (
    key TEXT COLLATE "C" PRIMARY KEY,
    most BIGINT NOT NULL,
    used BIGINT NOT NULL,
    granted BIGINT NOT NULL,
    ends_at TIMESTAMPTZ NOT NULL
  ) WITH (fillfactor = 50);
  CREATE INDEX request_windows_by_end ON request_windows (ends_at);
`
