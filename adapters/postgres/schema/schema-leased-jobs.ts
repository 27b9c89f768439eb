import { noteTransition } from './schema-deliveries.ts'

/**
 * Jobs for fetches, placements and deliveries, whose own tables store the rest of their state. A finished or abandoned
 * job has no row.
 */
export const leasedJobsSchema = `
  CREATE TABLE jobs (
    -- kind of work, and the id of its row in the table of that kind
    kind TEXT COLLATE "C" NOT NULL,
    key BIGINT NOT NULL,
    -- who may run it: a node for fetches, the number of a backend for placements, empty for any node
    queue TEXT COLLATE "C" NOT NULL,
    -- the account whose turn it uses
    account_id TEXT COLLATE "C" NOT NULL,
    -- null while its only possible worker runs it
    due_at BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0,
    last_error TEXT,
    -- the node that runs it, until this time by the database's clock
    leased_by TEXT,
    leased_until TIMESTAMPTZ
  );
  INSERT INTO jobs
    SELECT 'delivery', id, '', account_id, due_at, attempts, NULL, leased_by, leased_until FROM deliveries
    WHERE due_at IS NOT NULL;
  INSERT INTO jobs
    SELECT 'fetch', id, node, account_id, next_attempt_at, attempts, last_error, NULL, NULL FROM fetches
    WHERE next_attempt_at IS NOT NULL OR running;
  INSERT INTO jobs
    SELECT 'placement', id, backend_id::text, account_id, due_at, attempts, last_error, leased_by, leased_until
    FROM placements WHERE due_at IS NOT NULL;
  ALTER TABLE jobs ADD PRIMARY KEY (kind, key);
  CREATE INDEX jobs_by_account ON jobs (kind, queue, account_id, due_at, key) WHERE due_at IS NOT NULL;
  CREATE INDEX jobs_by_time ON jobs (kind, queue, due_at) WHERE due_at IS NOT NULL;
  CREATE FUNCTION job_gone() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM jobs WHERE kind = TG_ARGV[0] AND key = OLD.id;
    RETURN NULL;
  END $$;

  ALTER TABLE fetches DROP COLUMN next_attempt_at;
  CREATE TRIGGER fetches_gone AFTER DELETE ON fetches FOR EACH ROW EXECUTE FUNCTION job_gone('fetch');

  -- true while the backend fetches the content by itself; there is no job meanwhile
  ALTER TABLE placements ADD COLUMN entrusted BOOLEAN NOT NULL DEFAULT FALSE;
  UPDATE placements SET entrusted = TRUE WHERE wanted AND NOT placed AND due_at IS NULL;
  ALTER TABLE placements DROP COLUMN attempts, DROP COLUMN due_at, DROP COLUMN last_error, DROP COLUMN leased_by,
    DROP COLUMN leased_until;
  CREATE TRIGGER placements_gone AFTER DELETE ON placements FOR EACH ROW EXECUTE FUNCTION job_gone('placement');

  -- true after the last attempt, which attempts and last_error describe
  ALTER TABLE deliveries ADD COLUMN ended BOOLEAN NOT NULL DEFAULT FALSE;
  UPDATE deliveries SET ended = TRUE WHERE due_at IS NULL;
  ALTER TABLE deliveries DROP COLUMN due_at, DROP COLUMN leased_by, DROP COLUMN leased_until;
  CREATE INDEX deliveries_ended ON deliveries (webhook_id, id) WHERE ended;
  CREATE TRIGGER deliveries_gone AFTER DELETE ON deliveries FOR EACH ROW EXECUTE FUNCTION job_gone('delivery');
  ${noteTransition({ hasDue: false })}
`
