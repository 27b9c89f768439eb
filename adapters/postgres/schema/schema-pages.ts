/** Number of records at which a row of `record_places` is split in two. */
export const MOST_COUNTED = 2_000

/**
 * A place counts consecutive records of an account's list, so that a query finds a numbered page without reading all
 * newer records.
 *
 * Triggers update the places in the transaction that changes the records, which has already locked the account's row.
 */
export const pagesSchema = `
  CREATE TABLE record_places (
    account_id TEXT COLLATE "C" NOT NULL,
    -- the oldest record of the place, which reaches up to the next newer place
    created_at BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    records BIGINT NOT NULL,
    expiring BIGINT NOT NULL,
    PRIMARY KEY (account_id, created_at, id)
  ) WITH (fillfactor = 50);

  CREATE FUNCTION split_place(place record_places) RETURNS void LANGUAGE sql AS $$
    INSERT INTO record_places
    SELECT place.account_id, CASE part WHEN 0 THEN place.created_at ELSE MIN(created_at) END,
      CASE part WHEN 0 THEN place.id ELSE (array_agg(id ORDER BY created_at, id))[1] END, COUNT(*), COUNT(expires_at)
    FROM (
      SELECT created_at, id, expires_at, (row_number() OVER (ORDER BY created_at, id) - 1) / ${MOST_COUNTED / 2} AS part
      FROM (
        SELECT created_at, id, expires_at FROM records
        WHERE account_id = place.account_id AND (created_at, id) >= (place.created_at, place.id)
        ORDER BY created_at, id LIMIT place.records) AS counted) AS placed
    GROUP BY part
    ON CONFLICT (account_id, created_at, id) DO UPDATE SET records = excluded.records, expiring = excluded.expiring
  $$;

  CREATE FUNCTION count_records() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    sign BIGINT := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
    part RECORD;
    place record_places;
  BEGIN
    -- Records older than every place are counted in a place at the start of the list.
    FOR part IN
      SELECT c.account_id, COALESCE(p.created_at, -1) AS created_at, COALESCE(p.id, '') AS id,
        COUNT(*) AS records, COUNT(c.expires_at) AS expiring
      FROM changed c LEFT JOIN LATERAL (
        SELECT created_at, id FROM record_places
        WHERE account_id = c.account_id AND (created_at, id) <= (c.created_at, c.id)
        ORDER BY created_at DESC, id DESC LIMIT 1) p ON TRUE
      WHERE sign > 0 OR p.id IS NOT NULL
      GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    LOOP
      INSERT INTO record_places AS p
      VALUES (part.account_id, part.created_at, part.id, sign * part.records, sign * part.expiring)
      ON CONFLICT ON CONSTRAINT record_places_pkey
        DO UPDATE SET records = p.records + excluded.records, expiring = p.expiring + excluded.expiring
      RETURNING p.* INTO place;
      IF place.records = 0 THEN
        DELETE FROM record_places p
        WHERE p.account_id = place.account_id AND p.created_at = place.created_at AND p.id = place.id;
      ELSIF place.records >= ${MOST_COUNTED} THEN
        PERFORM split_place(place);
      END IF;
    END LOOP;
    RETURN NULL;
  END $$;
  CREATE TRIGGER records_counted AFTER INSERT ON records
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_records();
  CREATE TRIGGER records_uncounted AFTER DELETE ON records
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_records();

  -- Creates the places of all existing records.
  CREATE FUNCTION place_records() RETURNS void LANGUAGE sql AS $$
    INSERT INTO record_places
    SELECT account_id, MIN(created_at), (array_agg(id ORDER BY created_at, id))[1], COUNT(*), COUNT(expires_at)
    FROM (
      SELECT account_id, created_at, id, expires_at,
        (row_number() OVER (PARTITION BY account_id ORDER BY created_at, id) - 1) / ${MOST_COUNTED / 2} AS part
      FROM records) AS placed
    GROUP BY account_id, part
  $$;
  SELECT place_records();

  -- places include expired records until these are removed, so pages must find those
  DROP INDEX records_by_account_expiry;
  CREATE INDEX records_by_account_expiry ON records (account_id, expires_at) INCLUDE (created_at, id)
    WHERE expires_at IS NOT NULL;
`

/** Index of the records that are not pinned. The account's counter minus these is the number of pinned records. */
export const statesSchema = `
  CREATE INDEX records_not_pinned ON records (account_id, seq) WHERE status <> 'pinned';
`
