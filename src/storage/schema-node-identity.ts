/** The table has one row. Backups use the identity to distinguish nodes. */
export const nodeIdentitySchema = `
  CREATE TABLE node_identity (id TEXT PRIMARY KEY) STRICT;
  INSERT INTO node_identity (id) VALUES (lower(hex(randomblob(16))));
  `

export const announcedAsSchema = `
  -- The peer id and the network of the last announcements: one row. Announcements before "since" are due again.
  CREATE TABLE announced_as (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    peer TEXT NOT NULL,
    network TEXT NOT NULL,
    since INTEGER NOT NULL
  ) STRICT;
  `
