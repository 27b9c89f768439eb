/**
 * A version of each account, which every change of its lists and statuses raises. Nodes keep answers in memory until the
 * version changes.
 *
 * The version is the sum of the account's rows. A transaction raises a row that no other transaction has locked, or
 * inserts one. So it never waits for a version, and the versions cannot take part in a deadlock. The sum of committed
 * rows only grows.
 *
 * Triggers raise the versions in the transaction of the change, also for nodes of the previous version.
 */
export const versionsSchema = `
  CREATE TABLE account_versions (
    account_id TEXT COLLATE "C" NOT NULL,
    part BIGINT GENERATED ALWAYS AS IDENTITY,
    version BIGINT NOT NULL,
    PRIMARY KEY (account_id, part)
  ) WITH (fillfactor = 50);

  CREATE FUNCTION raise_versions(accounts TEXT[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    WITH lower AS MATERIALIZED (
      -- A version is raised once in a transaction: of records and of the counters of their account.
      SELECT one.id FROM unnest(accounts) AS one (id)
      WHERE NOT EXISTS (SELECT 1 FROM account_versions v
        WHERE v.account_id = one.id AND v.xmin = pg_current_xact_id()::xid)
    ), free AS MATERIALIZED (
      SELECT found.account_id, found.part FROM lower AS one CROSS JOIN LATERAL (
        SELECT account_id, part FROM account_versions WHERE account_id = one.id LIMIT 1 FOR UPDATE SKIP LOCKED) AS found
    ), raised AS (
      -- A random step: after the database was set back, no version is likely to return with other content.
      UPDATE account_versions v SET version = version + 1 + (random() * 1000)::bigint
      FROM free WHERE v.account_id = free.account_id AND v.part = free.part
    )
    INSERT INTO account_versions (account_id, version)
    SELECT one.id, 1 FROM lower AS one
    WHERE NOT EXISTS (SELECT 1 FROM free WHERE free.account_id = one.id);
  END $$;

  CREATE FUNCTION records_raise() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM raise_versions(ARRAY(SELECT DISTINCT account_id FROM changed));
    RETURN NULL;
  END $$;
  CREATE TRIGGER records_raised_by_insert AFTER INSERT ON records
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION records_raise();
  CREATE TRIGGER records_raised_by_update AFTER UPDATE ON records
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION records_raise();
  CREATE TRIGGER records_raised_by_delete AFTER DELETE ON records
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION records_raise();

  -- The plan bounds a page, and the counters are the totals of lists.
  CREATE FUNCTION accounts_raise() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM raise_versions(ARRAY(SELECT id FROM changed));
    RETURN NULL;
  END $$;
  CREATE TRIGGER accounts_raised AFTER UPDATE ON accounts
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION accounts_raise();
  CREATE FUNCTION forget_versions() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM account_versions WHERE account_id = OLD.id;
    RETURN NULL;
  END $$;
  CREATE TRIGGER accounts_forgotten AFTER DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION forget_versions();

  -- The other columns of a root never change.
  CREATE FUNCTION roots_raise() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM raise_versions(ARRAY(SELECT DISTINCT account_id FROM records WHERE root_id = NEW.id));
    RETURN NULL;
  END $$;
  CREATE TRIGGER roots_raised AFTER UPDATE OF listed, announced_at ON roots FOR EACH ROW
    EXECUTE FUNCTION roots_raise();
`
