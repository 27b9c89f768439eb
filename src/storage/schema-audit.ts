/** The audit log. Its entries outlive the accounts that they name. */
export const auditSchema = `
  CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- entries with the same key are one entry
    key TEXT NOT NULL UNIQUE,
    actor TEXT NOT NULL CHECK (actor IN ('owner', 'account', 'stranger')),
    -- counts the entries of this kind of actor, for the retention
    number INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    times INTEGER NOT NULL,
    account_id TEXT,
    credential TEXT,
    credential_id TEXT,
    address TEXT,
    action TEXT NOT NULL,
    -- 'ok', or the code of the error
    outcome TEXT NOT NULL,
    subject TEXT
  ) STRICT;
  CREATE INDEX audit_by_number ON audit (actor, number);
  CREATE INDEX audit_by_time ON audit (created_at);
  CREATE INDEX audit_by_account ON audit (account_id, created_at) WHERE account_id IS NOT NULL;
  CREATE INDEX audit_by_action ON audit (action, created_at);
  CREATE INDEX audit_by_outcome ON audit (outcome, created_at);
`
