/** SQL query for the id of the newest set-back. */
export const NEWEST_SET_BACK = 'SELECT id FROM set_backs ORDER BY seq DESC LIMIT 1'
/** SQL condition: the node named by `$1` may release content, because it has offered its content. */
export const HAS_OFFERED = `(SELECT offered FROM nodes WHERE name = $1) IS NOT DISTINCT FROM (${NEWEST_SET_BACK})`

export const setBacksSchema = `
  -- Each time when a node has noticed that the database was set back to an earlier state, or when a forgotten node has
  -- returned.
  CREATE TABLE set_backs (
    id TEXT COLLATE "C" PRIMARY KEY,
    seq BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,
    problem TEXT NOT NULL,
    noticed_by TEXT COLLATE "C" NOT NULL,
    noticed_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
  );
  -- the last set-back for which the node has offered its content, and the last record of the walk for the next one
  ALTER TABLE nodes ADD COLUMN offered TEXT COLLATE "C", ADD COLUMN offer_place TEXT COLLATE "C";

  -- Content of a record of another node. The hold keeps the content until the other node has taken it.
  CREATE TABLE offers (
    record_id TEXT COLLATE "C" NOT NULL,
    node TEXT COLLATE "C" NOT NULL,
    cluster_id TEXT NOT NULL,
    hold_id TEXT COLLATE "C" NOT NULL,
    -- the content on the offering node
    root_id BIGINT NOT NULL,
    PRIMARY KEY (record_id, node)
  );
  CREATE INDEX offers_by_cluster ON offers (cluster_id, record_id);
  CREATE INDEX offers_by_node ON offers (node, record_id);
  CREATE INDEX offers_by_root ON offers (root_id);
`
