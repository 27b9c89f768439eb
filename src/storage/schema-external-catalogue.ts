/** The name of this node in an external catalogue. */
export const catalogueNodeSchema = `
  -- The name of this directory in an external catalogue: one row once there is one.
  CREATE TABLE catalogue_node (name TEXT PRIMARY KEY) STRICT;
  `

/** A move to an external catalogue. */
export const catalogueMoveSchema = `
  -- The name of this directory in the external catalogue that its own is moving to: one row until the move ends.
  CREATE TABLE catalogue_move (name TEXT PRIMARY KEY) STRICT;
  `

/** The history of an external catalogue. */
export const cataloguePastSchema = `
  -- The history of the external catalogue at the last connection, and the difference that was found, until an operator
  -- has acknowledged it: one row at most.
  CREATE TABLE catalogue_past (
    system TEXT NOT NULL,
    timeline TEXT NOT NULL,
    "database" TEXT NOT NULL,
    problem TEXT
  ) STRICT;
  `

/** The last set-back of an external catalogue that this node knows. */
export const knownSetBackSchema = `
  -- Id of the last set-back that this node has seen in the catalogue. A catalogue without it was set back again.
  ALTER TABLE catalogue_past ADD COLUMN set_back TEXT;
  `
