/** The words of a record begin with the number of its block, so a statement reads the entries of only one block. */
export const searchBlocksSchema = `
  -- Places in a list where the clock had been set back by more than 1 s. Between two of them, no record is more than
  -- 1 s older than one before it.
  CREATE TABLE search_runs (
    account_id TEXT NOT NULL,
    -- search_id of the first record after the clock was set back
    first INTEGER NOT NULL,
    PRIMARY KEY (account_id, first)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO search_runs (account_id, first)
  WITH RECURSIVE walk (account_id, search_id, newest, begins) AS (
    SELECT account_id, number * 4294967296, 0, 0 FROM search_lists WHERE disordered = 1
    UNION ALL
    SELECT r.account_id, r.search_id,
      CASE WHEN r.created_at < walk.newest - 1000 THEN r.created_at ELSE MAX(walk.newest, r.created_at) END,
      r.created_at < walk.newest - 1000
    FROM walk JOIN records r ON r.search_id = (
      SELECT MIN(search_id) FROM records
      WHERE search_id > walk.search_id AND search_id < (walk.search_id / 4294967296 + 1) * 4294967296)
  )
  SELECT account_id, search_id FROM walk WHERE begins;
  ALTER TABLE search_lists DROP COLUMN disordered;
  -- number of the first record of the newest run; 0 for the first run
  ALTER TABLE search_lists ADD COLUMN run INTEGER NOT NULL DEFAULT 0;
  -- The index has no words of the records up to this place in records_by_account_expiry: they had expired.
  ALTER TABLE search_lists ADD COLUMN expired_until INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE search_lists ADD COLUMN expired_row INTEGER NOT NULL DEFAULT 0;
  CREATE TRIGGER search_lists_run AFTER UPDATE OF run ON search_lists WHEN NEW.run <> OLD.run BEGIN
    INSERT INTO search_runs (account_id, first) VALUES (NEW.account_id, NEW.number * 4294967296 + NEW.run);
  END;
  DROP TRIGGER search_lists_ended;
  CREATE TRIGGER search_lists_ended AFTER DELETE ON accounts BEGIN
    DELETE FROM search_lists WHERE account_id = OLD.id;
    DELETE FROM search_runs WHERE account_id = OLD.id;
  END;
  -- A search finds the place of an instant by search_id.
  DROP INDEX records_in_order;

  INSERT INTO record_search (record_search) VALUES ('delete-all');
  INSERT INTO record_search (rowid, words)
  SELECT search_id, search_words(search_id, name, type, status, multihash, expires_at, meta)
  FROM records ORDER BY search_id;
  -- A lookup of a word reads every segment of the index, and so many insertions leave dozens.
  INSERT INTO record_search (record_search) VALUES ('optimize');
`
