import { copiesSchema } from './schema-copies.ts'
import { lostCopiesSchema } from './schema-lost-copies.ts'
import { revisionsSchema } from './schema-revisions.ts'
import { undoPeriodsSchema } from './schema-undo.ts'

/** All changes of version 0.4.0. It only adds, so nodes of 0.3.0 go on beside it. */
export const changes040Schema = `
  -- When the user of a sign-in that the console keeps last proved to be there. Null for a session that is not kept, and
  -- for a key since its creation.
  ALTER TABLE sessions ADD COLUMN proved_at BIGINT;
  ALTER TABLE api_keys ADD COLUMN proved_at BIGINT;

  -- The name of the node that takes the content of an offer; null for an offer of the version before, which the node of
  -- the cluster takes.
  ALTER TABLE offers ADD COLUMN taker TEXT COLLATE "C";
  CREATE INDEX offers_by_taker ON offers (taker, record_id, node);

  -- The accounts that have a root, for the payer of its traffic. No other query has the condition. Without statistics the
  -- planner would otherwise look for content of an account in this index, and read all of it.
  CREATE INDEX records_by_owner ON records (root_id, account_id, created_at) INCLUDE (expires_at)
    WHERE root_id > 0;
  -- Owners of roots: 0 for public roots, or the number of an account; null for an account that the version before made.
  ALTER TABLE accounts ADD COLUMN owner BIGINT;
  ALTER TABLE accounts ADD COLUMN default_visibility TEXT NOT NULL DEFAULT 'public';
  -- 0 for a public record, else the number of its account.
  ALTER TABLE records ADD COLUMN owner BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE removed_records ADD COLUMN owner BIGINT NOT NULL DEFAULT 0;
  CREATE UNIQUE INDEX accounts_by_owner ON accounts (owner) WHERE owner IS NOT NULL;
  ALTER TABLE roots ADD COLUMN owner BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE fetches ADD COLUMN owner BIGINT NOT NULL DEFAULT 0;
  -- The account whose private blocks the fetch may use: the owner, or 0 for none.
  ALTER TABLE fetches ADD COLUMN possessor BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE root_files ADD COLUMN owner BIGINT NOT NULL DEFAULT 0;
  CREATE UNIQUE INDEX roots_private ON roots (multihash, owner, codec, backend_id) WHERE owner <> 0;
  ${undoPeriodsSchema}
  ${revisionsSchema}
  ${copiesSchema}
  ${lostCopiesSchema}

  -- The index has what a search by name compares, so that the search reads no records.
  CREATE INDEX records_with_names ON records (account_id, seq)
    INCLUDE (created_at, expires_at, type, status, owner, name, folded_name);
  DROP INDEX records_in_order;
  -- A list of one visibility passes no records of the other.
  CREATE INDEX records_private ON records (account_id, seq) INCLUDE (expires_at) WHERE owner <> 0;
  CREATE INDEX records_public ON records (account_id, seq) INCLUDE (expires_at) WHERE owner = 0;
  -- Without statistics the planner prefers the youngest index. A look-up of an identical record needs this one.
  DROP INDEX records_identical;
  CREATE INDEX records_identical ON records (account_id, identity);
`
