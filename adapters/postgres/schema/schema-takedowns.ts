export const takedownsSchema = `
  CREATE TABLE takedowns (
    cid TEXT COLLATE "C" NOT NULL,
    -- empty for the block itself
    path TEXT COLLATE "C" NOT NULL,
    seq BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,
    status INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at BIGINT NOT NULL,
    -- a lifted takedown stays in the table: a node must distinguish it from a lost one
    lifted_at BIGINT,
    PRIMARY KEY (cid, path)
  );
  CREATE FUNCTION takedowns_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_notify('holdfast_takedowns', '');
    RETURN NULL;
  END $$;
  CREATE TRIGGER takedowns_changed AFTER INSERT OR UPDATE OR DELETE ON takedowns
    FOR EACH STATEMENT EXECUTE FUNCTION takedowns_changed();
`
