/**
 * A root makes a block available only if a path without a withheld block leads from the root to the block. The table
 * `root_blocks` stores whether such a path exists.
 */
export const withheldSchema = `
  -- Blocks that are taken down. status: the answer to requests, 410 or 451; 0 while the takedown is being lifted.
  -- applied: 1 once all roots that need the block have been updated.
  CREATE TABLE withheld (
    multihash BLOB PRIMARY KEY,
    status INTEGER NOT NULL CHECK (status IN (0, 410, 451)),
    applied INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;

  -- Blocks that a taken down identity CID links to. An identity CID has no row in blocks, so these find its roots.
  -- carrier: the SHA-256 of its multihash.
  CREATE TABLE withheld_links (
    multihash BLOB NOT NULL,
    carrier BLOB NOT NULL,
    PRIMARY KEY (multihash, carrier)
  ) STRICT, WITHOUT ROWID;

  -- 0: the root is open, and vouches for each block below it with way = 0. 1: only the root block is open, until its
  -- walk has ended. 410 or 451: the root is taken down.
  ALTER TABLE roots ADD COLUMN barred INTEGER NOT NULL DEFAULT 0;

  -- 0: a path without withheld blocks leads from the root to the block. 410 or 451: every path passes a withheld block.
  -- 404: no path leads to the block.
  ALTER TABLE root_blocks ADD COLUMN way INTEGER NOT NULL DEFAULT 0;
  DROP INDEX root_blocks_by_block;
  CREATE INDEX root_blocks_by_block ON root_blocks (block_id, way);

  -- Roots whose ways a walk computes again. Stages: 0 deletes an earlier walk, 1 walks from the root, 2 stores the
  -- ways, 3 deletes the walk.
  CREATE TABLE reach_walks (
    root_id INTEGER PRIMARY KEY,
    stage INTEGER NOT NULL DEFAULT 0,
    -- in stage 2, the block that was stored last
    place INTEGER NOT NULL DEFAULT 0,
    -- the largest safe integer while the root is being staged
    due_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX reach_walks_by_time ON reach_walks (due_at);

  -- Blocks that a walk has reached, and their way. done: 1 once their links are reached, too.
  CREATE TABLE reached (
    root_id INTEGER NOT NULL,
    block_id INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    way INTEGER NOT NULL,
    done INTEGER NOT NULL,
    PRIMARY KEY (root_id, block_id, codec)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX reached_next ON reached (root_id, way, block_id) WHERE done = 0;

  CREATE TRIGGER root_blocks_withheld AFTER INSERT ON root_blocks
    WHEN EXISTS (
      SELECT 1 FROM blocks b WHERE b.id = NEW.block_id AND (
        EXISTS (SELECT 1 FROM withheld w WHERE w.multihash = b.multihash AND w.status > 0)
        OR EXISTS (SELECT 1 FROM withheld_links l WHERE l.multihash = b.multihash)))
  BEGIN
    INSERT INTO reach_walks (root_id, due_at)
      SELECT id, CASE state WHEN 'staging' THEN 9007199254740991 ELSE 0 END FROM roots WHERE id = NEW.root_id
      ON CONFLICT (root_id) DO UPDATE SET stage = 0, place = 0, due_at = excluded.due_at;
    UPDATE roots SET barred = MAX(barred, 1) WHERE id = NEW.root_id;
  END;
  ${barredOnce('roots_withheld_changed', 'UPDATE OF state', "NEW.state <> 'staging' AND EXISTS (SELECT 1 FROM reach_walks WHERE root_id = NEW.id)")}
  ${barredOnce('roots_withheld_added', 'INSERT', '0')}
`

/**
 * Returns SQL for a trigger that bars a taken down root when the root becomes complete, and makes its walk due.
 * If the condition `also` is true, the walk becomes due for any root.
 */
function barredOnce(name: string, event: string, also: string): string {
  const own = 'SELECT status FROM withheld WHERE multihash = NEW.multihash AND status > 0'
  return `
  CREATE TRIGGER ${name} AFTER ${event} ON roots WHEN (NEW.state = 'complete' AND EXISTS (${own})) OR (${also})
  BEGIN
    INSERT INTO reach_walks (root_id, due_at) VALUES (NEW.id, 0)
      ON CONFLICT (root_id) DO UPDATE SET stage = 0, place = 0, due_at = 0;
    UPDATE roots SET barred = COALESCE((${own}), barred) WHERE id = NEW.id;
  END;`
}
