/** The identity of a data directory, by which a backup tells nodes apart: one row. */
export const nodeIdentitySchema = `
  CREATE TABLE node_identity (id TEXT PRIMARY KEY) STRICT;
  INSERT INTO node_identity (id) VALUES (lower(hex(randomblob(16))));
  `

/** The peer and the network that a node has announced roots as. */
export const announcedAsSchema = `
  -- As whom this node announces roots, and to which network: one row. What it announced before since is due again.
  CREATE TABLE announced_as (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    peer TEXT NOT NULL,
    network TEXT NOT NULL,
    since INTEGER NOT NULL
  ) STRICT;
  `
