/** Links that set a password, one at most for each account. */
export const linksSchema = `
  CREATE TABLE password_links (
    account_id TEXT PRIMARY KEY,
    -- SHA-256 of the token; the token itself is never stored
    hash BLOB NOT NULL UNIQUE,
    expires_at INTEGER NOT NULL
  ) STRICT;
`
