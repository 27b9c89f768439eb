/**
 * Content that is not to be given to strangers. A root vouches for a block below it only by a path that passes no
 * withheld block, so each pair of root and block says whether there is such a path.
 */
export const withheldSchema = `
  -- Blocks that are taken down, with how requests for them are answered: 410 or 451; 0 while that is being lifted.
  -- applied: 1 once all roots that need the block have been told.
  CREATE TABLE withheld (
    multihash BLOB PRIMARY KEY,
    status INTEGER NOT NULL CHECK (status IN (0, 410, 451)),
    applied INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;

  -- Blocks to which a taken down identity CID links. It has no row in blocks, so its roots are found by these.
  -- carrier: the SHA-256 of its multihash.
  CREATE TABLE withheld_links (
    multihash BLOB NOT NULL,
    carrier BLOB NOT NULL,
    PRIMARY KEY (multihash, carrier)
  ) STRICT, WITHOUT ROWID;

  -- 0: the root is open, and vouches for each block below it with way = 0.
  -- 1: it is open from the top, and vouches for nothing below it until its walk has ended.
  -- 410 or 451: it is taken down.
  ALTER TABLE roots ADD COLUMN barred INTEGER NOT NULL DEFAULT 0;

  -- 0: a path leads from the root to the block and passes nothing withheld.
  -- 410 or 451: every path passes something withheld. 404: no path leads there.
  ALTER TABLE root_blocks ADD COLUMN way INTEGER NOT NULL DEFAULT 0;
  DROP INDEX root_blocks_by_block;
  CREATE INDEX root_blocks_by_block ON root_blocks (block_id, way);

  -- Roots of which the ways are to be found anew, in stages: 0 forgets an earlier walk, 1 walks from the root,
  -- 2 notes the ways, 3 forgets the walk.
  CREATE TABLE reach_walks (
    root_id INTEGER PRIMARY KEY,
    stage INTEGER NOT NULL DEFAULT 0,
    -- in stage 2 the block that was noted last
    place INTEGER NOT NULL DEFAULT 0,
    -- the largest safe integer while the root is being staged
    due_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX reach_walks_by_time ON reach_walks (due_at);

  -- Blocks that a walk has come to, and by which way. done: 1 once its links are here, too.
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

/** A trigger that bars a root as soon as it is complete, and has its walk begin; with `also`, a walk without that. */
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
