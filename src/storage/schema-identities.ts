/** Users of a sign-in provider, and their accounts. */
export const usersOfProvidersSchema = `
  CREATE TABLE identities (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    account_id TEXT NOT NULL,
    -- the last sign-in or refresh; null once the plan of that sign-in has ended
    confirmed_at INTEGER,
    -- sealed with the data key
    refresh_token BLOB,
    refresh_at INTEGER,
    PRIMARY KEY (issuer, subject)
  ) STRICT;
  CREATE UNIQUE INDEX identities_by_account ON identities (account_id);
  CREATE INDEX identities_by_age ON identities (confirmed_at) WHERE confirmed_at IS NOT NULL;
  CREATE INDEX identities_by_refresh ON identities (refresh_at) WHERE refresh_at IS NOT NULL;
`
