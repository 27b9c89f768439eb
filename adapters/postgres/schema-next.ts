/** All changes of the next version. It only adds, so nodes of the version before go on beside it. */
export const nextSchema = `
  -- The name of the node that takes the content of an offer; null for an offer of the version before, which the node of
  -- the cluster takes.
  ALTER TABLE offers ADD COLUMN taker TEXT COLLATE "C";
  CREATE INDEX offers_by_taker ON offers (taker, record_id, node);
`
