/** An index of names, which a search reads instead of the records. */
export const searchNamesSchema = `
  -- the folded name; null if it is equal to the name
  ALTER TABLE records ADD COLUMN folded_name TEXT;
  ALTER TABLE removed_records ADD COLUMN folded_name TEXT;
  UPDATE records SET folded_name = folded_name(name) WHERE folded_name(name) IS NOT NULL;
  UPDATE removed_records SET folded_name = folded_name(name);
  DROP INDEX records_by_search;
  CREATE INDEX records_by_search ON records (search_id, expires_at, type, status, owner, name, folded_name);
  DROP TRIGGER records_found_anew;
  CREATE TRIGGER records_found_anew AFTER UPDATE OF name, status, owner, meta ON records
    WHEN OLD.name IS NOT NEW.name OR OLD.status <> NEW.status OR OLD.owner <> NEW.owner OR OLD.meta IS NOT NEW.meta
  BEGIN
    INSERT OR IGNORE INTO search_pending (search_id) VALUES (NEW.search_id);
  END;

  -- The index of words had lost the words of expired records before their removal.
  INSERT OR IGNORE INTO search_pending (search_id)
  SELECT r.search_id FROM search_lists l CROSS JOIN records r INDEXED BY records_by_account_expiry
    ON r.account_id = l.account_id AND r.expires_at IS NOT NULL AND r.expires_at <= l.expired_until;
  ALTER TABLE search_lists DROP COLUMN expired_until;
  ALTER TABLE search_lists DROP COLUMN expired_row;
`
