/** Moves of a catalogue to this database that are not finished. */
export const movesSchema = `
  -- The data directory that is being moved. Until it uses the database, no other may.
  CREATE TABLE moves (node TEXT COLLATE "C" PRIMARY KEY);
`
