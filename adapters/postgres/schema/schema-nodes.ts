export const nodesSchema = `
  -- numbers the backends of the node, see backends.ts
  ALTER TABLE nodes ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE nodes ALTER COLUMN number DROP DEFAULT;
  ALTER TABLE nodes ADD CONSTRAINT nodes_number UNIQUE (number);
  -- the configured node.id; null for a node outside a fleet
  ALTER TABLE nodes ADD COLUMN id TEXT COLLATE "C" UNIQUE;
  -- the address for other nodes, and the last heartbeat; null after a clean stop
  ALTER TABLE nodes ADD COLUMN url TEXT;
  ALTER TABLE nodes ADD COLUMN seen_at TIMESTAMPTZ;

  -- The sealed secret by which nodes prove that they belong to the fleet.
  CREATE TABLE fleet_secret (secret BYTEA NOT NULL);

  -- how often records left it on other nodes; its own node must still check whether any record waits for it
  ALTER TABLE fetches ADD COLUMN leavings BIGINT NOT NULL DEFAULT 0;
  CREATE INDEX fetches_left ON fetches (node, id) WHERE leavings > 0;

  -- finds how long a root is needed, and the roots that contain a file
  CREATE INDEX records_by_life ON records (root_id, expires_at) WHERE root_id IS NOT NULL;
  CREATE INDEX root_files_by_cid ON root_files (multihash);
`

export const leavingSchema = `
  -- true while the node shuts down: it finishes its work and takes no more
  ALTER TABLE nodes ADD COLUMN leaving BOOLEAN NOT NULL DEFAULT FALSE;
`

/** The id of a node's current run. Requests to the node contain this id in their proofs. */
export const runsSchema = `
  -- random for each start; null if the node's version writes none
  ALTER TABLE nodes ADD COLUMN run TEXT COLLATE "C";
`

/** States of nodes. The row of a node that has ended stays, so no later node gets its number and with it its backends. */
export const nodeStatesSchema = `
  ALTER TABLE nodes ADD COLUMN state TEXT NOT NULL DEFAULT 'active'
    CHECK (state IN ('active', 'retiring', 'retired', 'forgetting', 'forgotten'));
  ALTER TABLE nodes ADD COLUMN state_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp();
  -- its records when it began to retire, or to be forgotten
  ALTER TABLE nodes ADD COLUMN total BIGINT;
  -- the last heartbeat, which stays after a clean stop
  ALTER TABLE nodes ADD COLUMN last_seen_at TIMESTAMPTZ;
  -- a JSON object: the node of each cluster, in the configuration of this node
  ALTER TABLE nodes ADD COLUMN clusters TEXT;
  -- a lost or empty node gives its id to the next data directory
  ALTER TABLE nodes DROP CONSTRAINT nodes_id_key;
  CREATE UNIQUE INDEX nodes_by_id ON nodes (id) WHERE state IN ('active', 'retiring');

  -- the id of the forgotten node that had the content, until the content is complete again
  ALTER TABLE records ADD COLUMN lost_with TEXT COLLATE "C";
  CREATE INDEX records_lost ON records (account_id, id) WHERE lost_with IS NOT NULL;
`

/** The destination of the content of a retiring node. */
export const retiringSchema = `
  -- the name of the node to which its content moves
  ALTER TABLE nodes ADD COLUMN retire_to TEXT COLLATE "C";
  CREATE INDEX removed_records_by_root ON removed_records (root_id, id) WHERE root_id IS NOT NULL;
`
