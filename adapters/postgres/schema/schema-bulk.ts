/**
 * Changes of many records, and removed records in their undo period. A hold in the state `kept` keeps the content of
 * such a record, without letting anybody read it.
 */
export const bulkChangesSchema = `
  CREATE TABLE bulk_changes (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- the id for clients
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    account_id TEXT COLLATE "C" NOT NULL,
    action TEXT NOT NULL,
    -- a JSON array of record ids, or a JSON object of filters; empty once it is not needed
    selection TEXT NOT NULL,
    phase TEXT NOT NULL DEFAULT 'running',
    -- where the next step begins
    place TEXT NOT NULL DEFAULT '',
    total BIGINT NOT NULL,
    done BIGINT NOT NULL DEFAULT 0,
    failed BIGINT NOT NULL DEFAULT 0,
    restored BIGINT NOT NULL DEFAULT 0,
    -- a JSON array
    failures TEXT NOT NULL DEFAULT '[]',
    freed_bytes BIGINT NOT NULL DEFAULT 0,
    undo_ms BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    -- null until it, or its undoing, has ended
    ended_at BIGINT
  );
  CREATE INDEX bulk_changes_by_account ON bulk_changes (account_id);
  CREATE TRIGGER bulk_changes_gone AFTER DELETE ON bulk_changes FOR EACH ROW EXECUTE FUNCTION job_gone('bulk');

  -- The columns of records, and the change that removed the record.
  CREATE TABLE removed_records (LIKE records);
  ALTER TABLE removed_records ADD COLUMN change_id BIGINT NOT NULL, ADD PRIMARY KEY (id);
  CREATE INDEX removed_records_by_change ON removed_records (change_id, id);

  ALTER TABLE holds DROP CONSTRAINT holds_state_check;
  ALTER TABLE holds ADD CONSTRAINT holds_state_check CHECK (state IN ('placing', 'used', 'kept', 'void'));
  -- the new end of the hold, until the ledger has stored it
  ALTER TABLE holds ADD COLUMN new_end BIGINT;
  CREATE INDEX holds_ending ON holds (node, id) WHERE new_end IS NOT NULL;
`
