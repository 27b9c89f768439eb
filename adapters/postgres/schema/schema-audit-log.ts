/** The audit log. Its entries outlive the accounts that they name. */
export const auditLogSchema = `
  CREATE TABLE audit (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- entries with the same key are one entry
    key TEXT COLLATE "C" NOT NULL UNIQUE,
    actor TEXT COLLATE "C" NOT NULL CHECK (actor IN ('owner', 'account', 'stranger')),
    -- counts the entries of this kind of actor, for the retention
    number BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    times BIGINT NOT NULL,
    account_id TEXT COLLATE "C",
    credential TEXT,
    credential_id TEXT,
    address TEXT,
    action TEXT COLLATE "C" NOT NULL,
    -- 'ok', or the code of the error
    outcome TEXT COLLATE "C" NOT NULL,
    subject TEXT
  );
  CREATE INDEX audit_by_number ON audit (actor, number);
  CREATE INDEX audit_by_time ON audit (created_at, id);
  CREATE INDEX audit_by_account ON audit (account_id, created_at, id) WHERE account_id IS NOT NULL;
  CREATE INDEX audit_by_action ON audit (action, created_at, id);
  CREATE INDEX audit_by_outcome ON audit (outcome, created_at, id);
`
