/** Several nodes on one catalogue: who they are, and what one has to be told of what another did. */
export const nodesSchema = `
  -- by which what a node keeps is told from what others keep: its backends are numbered by it, see backends.ts
  ALTER TABLE nodes ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE nodes ALTER COLUMN number DROP DEFAULT;
  ALTER TABLE nodes ADD CONSTRAINT nodes_number UNIQUE (number);
  -- as its configuration calls it; null for one that is alone
  ALTER TABLE nodes ADD COLUMN id TEXT COLLATE "C" UNIQUE;
  -- where the others reach it, and when it was last there; null once it has stopped
  ALTER TABLE nodes ADD COLUMN url TEXT;
  ALTER TABLE nodes ADD COLUMN seen_at TIMESTAMPTZ;

  -- What nodes prove to each other that they are of one fleet by, sealed.
  CREATE TABLE fleet_secret (secret BYTEA NOT NULL);

  -- how often records have left it on other nodes than its own, which has still to look whether anybody waits
  ALTER TABLE fetches ADD COLUMN leavings BIGINT NOT NULL DEFAULT 0;
  CREATE INDEX fetches_left ON fetches (node, id) WHERE leavings > 0;

  -- until when a root is needed, and which roots a file is below
  CREATE INDEX records_by_life ON records (root_id, expires_at) WHERE root_id IS NOT NULL;
  CREATE INDEX root_files_by_cid ON root_files (multihash);
`

/** What nodes say when they are told to end. */
export const leavingSchema = `
  -- whether it only finishes what it has begun
  ALTER TABLE nodes ADD COLUMN leaving BOOLEAN NOT NULL DEFAULT FALSE;
`

/** Which run of a node the proofs of other nodes are for. */
export const runsSchema = `
  -- random, made anew with each start; null for a node of a version that has none
  ALTER TABLE nodes ADD COLUMN run TEXT COLLATE "C";
`
