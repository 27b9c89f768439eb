/** Unfinished moves of a catalogue to this database. */
export const movesSchema = `
  -- The data directory that is being moved. Until it uses the database, no other may.
  CREATE TABLE moves (node TEXT COLLATE "C" PRIMARY KEY);
`
