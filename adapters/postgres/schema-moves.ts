/** Moves that have not come to their end. */
export const movesSchema = `
  -- The data directory whose catalogue was copied here, until it uses it: meanwhile nobody else may.
  CREATE TABLE moves (node TEXT COLLATE "C" PRIMARY KEY);
`
