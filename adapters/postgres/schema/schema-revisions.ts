/** SQL expression: the number of the newest change that all nodes must confirm. */
export const NEWEST_REVISION = 'COALESCE((SELECT number FROM revisions), 0)'

/**
 * Numbers of the changes that decide what strangers may be given, such as takedowns. The log has only the newest number,
 * because the table of each subject has the changes. After a change, a node reads these tables and decides its open
 * responses again.
 */
export const revisionsSchema = `
  -- The lock on the row lasts until the commit of a change, so numbers become visible in the order of the commits.
  CREATE TABLE revisions (one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), number BIGINT NOT NULL);
  CREATE FUNCTION begin_revision() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE newest BIGINT;
  BEGIN
    INSERT INTO revisions AS known (number) VALUES (1)
      ON CONFLICT (one) DO UPDATE SET number = known.number + 1 RETURNING number INTO newest;
    -- a channel of the version before, which ignores the number
    PERFORM pg_notify('holdfast_takedowns', newest::text);
    RETURN NULL;
  END $$;
  -- Before the statement, so that two changes of one takedown lock in the same order.
  CREATE TRIGGER takedowns_begin_revision BEFORE INSERT OR UPDATE OR DELETE ON takedowns
    FOR EACH STATEMENT EXECUTE FUNCTION begin_revision();
  -- A change of the visibility of records. An insertion is none.
  CREATE TRIGGER records_begin_revision AFTER UPDATE OF owner ON records
    FOR EACH STATEMENT EXECUTE FUNCTION begin_revision();
  DROP TRIGGER takedowns_changed ON takedowns;
  DROP FUNCTION takedowns_changed;
  -- The newest change that the node and its threads follow. Null if the version of the node confirms nothing.
  ALTER TABLE nodes ADD COLUMN confirmed BIGINT;
  -- Records of which the database or a ledger said that they are public, after a set-back. They are private until their
  -- account decides. catalogue: the visibility that the database had.
  CREATE TABLE disputes (record_id TEXT COLLATE "C" PRIMARY KEY, catalogue TEXT NOT NULL);
  -- Each start of a node gives it another run. The version before does so, too, but confirms nothing afterwards.
  CREATE FUNCTION confirm_anew() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.confirmed := NULL;
    RETURN NEW;
  END $$;
  CREATE TRIGGER nodes_confirm_anew BEFORE UPDATE OF run ON nodes FOR EACH ROW
    WHEN (OLD.run IS DISTINCT FROM NEW.run) EXECUTE FUNCTION confirm_anew();
`
