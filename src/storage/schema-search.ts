/**
 * Schema of the search index. Each account has a numbered list, in which records are numbered in the order of their
 * creation.
 * The column `search_id` is the number of the list times 2^32, plus the number of the record.
 * Triggers store the numbers of records whose words change.
 */
export const searchSchema = `
  -- A JSON object of texts, keys sorted; null for none.
  ALTER TABLE records ADD COLUMN meta TEXT;
  ALTER TABLE records ADD COLUMN search_id INTEGER;
  DROP INDEX records_identical;
  CREATE INDEX records_identical
    ON records (account_id, multihash, codec, cluster_id, expires_at, name, original_name, custom_name, meta);

  CREATE TABLE search_lists (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id TEXT NOT NULL UNIQUE,
    -- number of the newest record
    last INTEGER NOT NULL,
    -- the latest creation time of any of its records
    newest INTEGER NOT NULL,
    -- 1 once a record is older than one before it: a clock was set back
    disordered INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE VIRTUAL TABLE record_search USING fts5(
    words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
  );

  -- An automatic merge would block a commit until it ends: each step of SearchIndex merges a little instead.
  INSERT INTO record_search (record_search, rank) VALUES ('automerge', 0);
  INSERT INTO record_search (record_search, rank) VALUES ('crisismerge', 256);

  INSERT INTO search_lists (account_id, last, newest)
  SELECT account_id, COUNT(*), MAX(created_at) FROM records GROUP BY account_id;
  UPDATE records SET search_id = placed.id FROM (
    SELECT r.id AS record_id,
      l.number * 4294967296 + ROW_NUMBER() OVER (PARTITION BY r.account_id ORDER BY r.created_at, r.id) AS id
    FROM records r JOIN search_lists l ON l.account_id = r.account_id
  ) AS placed WHERE placed.record_id = records.id;
  CREATE UNIQUE INDEX records_by_search ON records (search_id);
  CREATE INDEX records_in_order ON records (account_id, created_at, search_id);
  INSERT INTO record_search (rowid, words)
  SELECT search_id, search_words(search_id, name, type, status, multihash, expires_at, meta)
  FROM records ORDER BY search_id;

  -- Numbers of the records whose words in the index may be out of date, including deleted records.
  CREATE TABLE search_pending (search_id INTEGER PRIMARY KEY) STRICT;
  CREATE TRIGGER records_found AFTER INSERT ON records BEGIN
    INSERT OR IGNORE INTO search_pending (search_id) VALUES (NEW.search_id);
  END;
  CREATE TRIGGER records_found_anew AFTER UPDATE OF name, status, meta ON records
    WHEN OLD.name IS NOT NEW.name OR OLD.status <> NEW.status OR OLD.meta IS NOT NEW.meta
  BEGIN
    INSERT OR IGNORE INTO search_pending (search_id) VALUES (NEW.search_id);
  END;
  CREATE TRIGGER records_lost AFTER DELETE ON records BEGIN
    INSERT OR IGNORE INTO search_pending (search_id) VALUES (OLD.search_id);
  END;
  CREATE TRIGGER search_lists_ended AFTER DELETE ON accounts BEGIN
    DELETE FROM search_lists WHERE account_id = OLD.id;
  END;
`
