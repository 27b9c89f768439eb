import { BACKENDS_OF_NODE } from '../../../src/catalogue/rules/dialect.ts'
import { HAS_ENDED } from '../nodes/node-states.ts'

/** Class of the advisory locks of contents. */
const COPIES_LOCK = 40
const CONTENT = 'multihash = this_hash AND codec = this_codec AND owner = this_owner'

function trigger(
  table: string,
  on: 'INSERT' | 'DELETE' | 'UPDATE',
  { rows, changed }: { rows: string; changed: string },
) {
  const name = `${table}_copies_${on.toLowerCase()}`
  return `
  CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM follow_copies(array_agg(multihash), array_agg(codec), array_agg(owner), ${on === 'INSERT'})
      FROM (SELECT DISTINCT multihash, codec, owner FROM ${changed}) AS one;
    RETURN NULL;
  END $$;
  CREATE TRIGGER ${name} AFTER ${on} ON ${table} REFERENCING ${rows} FOR EACH STATEMENT EXECUTE FUNCTION ${name}();
  ALTER TABLE ${table} DISABLE TRIGGER ${name};`
}

const BOTH = 'OLD TABLE AS old_rows NEW TABLE AS new_rows'
/** Both versions of each row for which a column differs. A join would compare each row with each. */
const differing = (compared: string): string => {
  const less = (one: string, other: string) =>
    `(SELECT id, ${compared} FROM ${one} EXCEPT SELECT id, ${compared} FROM ${other})`
  return `(${less('old_rows', 'new_rows')} UNION ${less('new_rows', 'old_rows')}) AS changed`
}

/**
 * Copies of content on further nodes. Triggers follow the records, so that every change of them, also by a node of the
 * previous version, changes the copies in the same transaction. The triggers are disabled until a cluster wants copies.
 */
export const copiesSchema = `
  -- JSON object: the nodes and copies of each cluster with more than one copy, in the configuration of this node. Null for
  -- a node of the version before.
  ALTER TABLE nodes ADD COLUMN copy_sets TEXT;
  -- true while the node has no room for copies
  ALTER TABLE nodes ADD COLUMN is_full BOOLEAN NOT NULL DEFAULT FALSE;
  -- Sets of nodes, by their configured ids. While the configurations of the nodes differ, a cluster may have several.
  CREATE TABLE copy_sets (
    cluster_id TEXT NOT NULL,
    nodes TEXT[] NOT NULL,
    copies INTEGER NOT NULL,
    PRIMARY KEY (cluster_id, nodes, copies)
  );
  -- One row, once a set has been wanted.
  CREATE TABLE copy_walk (
    one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one),
    -- the last root of the walk that follows a change of the sets; null after its end
    place BIGINT,
    -- false while the configurations of the nodes differ
    agreed BOOLEAN NOT NULL,
    -- A node that was away has returned. In ms since the epoch: until then the nodes keep the copies made meanwhile.
    keep_until BIGINT NOT NULL DEFAULT 0
  );
  -- Nodes, by name, that are away for so long that other nodes of the cluster copy what they have.
  CREATE TABLE copy_absences (
    cluster_id TEXT NOT NULL,
    node TEXT COLLATE "C" NOT NULL,
    since TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (cluster_id, node)
  );
  -- A further node that keeps content for an owner, or should.
  CREATE TABLE copies (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    multihash BYTEA NOT NULL,
    codec BIGINT NOT NULL,
    owner BIGINT NOT NULL,
    node TEXT COLLATE "C" NOT NULL,
    -- 'surplus': no set wants it. 'going': its node asks the others whether it may release it.
    state TEXT NOT NULL DEFAULT 'wanted' CHECK (state IN ('wanted', 'have', 'damaged', 'surplus', 'going')),
    since TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    -- the hold in the ledger of the node; null while wanted
    hold_id TEXT COLLATE "C",
    root_id BIGINT,
    -- the end of the hold: that of the last record of the content and owner; 0 while only an undo may need it
    ends BIGINT,
    -- the run in which the node last compared it with its ledger
    run TEXT COLLATE "C",
    due_at BIGINT NOT NULL DEFAULT 0,
    -- wanted for new content, before all repairs
    is_fresh BOOLEAN NOT NULL DEFAULT FALSE,
    attempts BIGINT NOT NULL DEFAULT 0,
    last_error TEXT,
    UNIQUE (multihash, codec, owner, node)
  );
  CREATE INDEX copies_by_root ON copies (root_id) WHERE root_id IS NOT NULL;
  CREATE INDEX copies_by_hold ON copies (hold_id) WHERE hold_id IS NOT NULL;
  CREATE INDEX copies_by_node ON copies (node, id);
  CREATE INDEX copies_due ON copies (node, is_fresh, due_at, id) WHERE state IN ('wanted', 'damaged');
  CREATE INDEX copies_surplus ON copies (node, id) WHERE state IN ('surplus', 'going');

  -- Makes the holds of ended copies void, and tells their nodes.
  CREATE FUNCTION void_copies(ended_holds TEXT[]) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    holder TEXT;
  BEGIN
    FOR holder IN UPDATE holds SET state = 'void' WHERE id = ANY(ended_holds) AND state <> 'void' RETURNING node LOOP
      PERFORM pg_notify('holdfast_nodes', holder);
    END LOOP;
  END $$;

  -- Ends the copies of content that nobody needs any more.
  CREATE FUNCTION end_copies(this_hash BYTEA, this_codec BIGINT, this_owner BIGINT) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    ended_holds TEXT[];
    ended_roots BIGINT[];
  BEGIN
    WITH gone AS (DELETE FROM copies WHERE ${CONTENT} RETURNING hold_id, root_id)
      SELECT array_agg(hold_id), array_agg(root_id) INTO ended_holds, ended_roots FROM gone WHERE hold_id IS NOT NULL;
    PERFORM void_copies(ended_holds);
    PERFORM 1 FROM roots WHERE id = ANY(ended_roots)
      ORDER BY owner <> 0, multihash, codec, backend_id, owner FOR UPDATE;
    WITH gone AS (
      DELETE FROM roots WHERE id = ANY(ended_roots)
        AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.root_id = roots.id AND holds.state <> 'void')
      RETURNING id, file_count)
      INSERT INTO roots_gone SELECT id FROM gone WHERE file_count > 0;
  END $$;

  -- Decides about the copies of one content of an owner, whose rows are locked.
  CREATE FUNCTION follow_copy(this_hash BYTEA, this_codec BIGINT, this_owner BIGINT, fresh BOOLEAN)
  RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    found_roots BIGINT[];
    primaries TEXT[];
    chosen TEXT[];
    receivers TEXT[];
    ended_holds TEXT[];
    last_end BIGINT;
    is_live BOOLEAN;
    holder TEXT;
  BEGIN
    found_roots := ARRAY(
      SELECT id FROM roots WHERE multihash = this_hash AND codec = this_codec AND owner = 0 AND this_owner = 0
      UNION ALL
      SELECT id FROM roots WHERE multihash = this_hash AND owner = this_owner AND codec = this_codec AND owner <> 0);
    SELECT life.expires_at INTO last_end FROM unnest(found_roots) AS root, LATERAL (
      SELECT expires_at FROM records WHERE root_id = root ORDER BY expires_at DESC LIMIT 1) AS life
      ORDER BY life.expires_at DESC LIMIT 1;
    is_live := FOUND;
    IF NOT is_live THEN
      -- The content of a record that waits for it again may come from its copies.
      IF EXISTS (SELECT 1 FROM fetches f WHERE f.multihash = this_hash AND f.codec = this_codec AND f.owner = this_owner
          AND EXISTS (SELECT 1 FROM records WHERE fetch_id = f.id)) THEN
        -- Further copies are wanted again when a record has it.
        DELETE FROM copies WHERE ${CONTENT} AND state = 'wanted';
        RETURN;
      END IF;
      IF NOT EXISTS (SELECT 1 FROM unnest(found_roots) AS root JOIN removed_records r ON r.root_id = root) THEN
        PERFORM end_copies(this_hash, this_codec, this_owner);
        RETURN;
      END IF;
      last_end := 0;
      chosen := ARRAY(SELECT node FROM copies WHERE ${CONTENT} AND state IN ('have', 'damaged'));
    ELSE
      primaries := ARRAY(
        SELECT DISTINCT nodes.name FROM roots JOIN nodes ON nodes.number = roots.backend_id / ${BACKENDS_OF_NODE}
        WHERE roots.id = ANY(found_roots) AND nodes.state = 'active'
          AND EXISTS (SELECT 1 FROM records WHERE root_id = roots.id));
      -- For each set the nodes of records first, then those that have a copy, or will. A node that is away, or has no
      -- room, is chosen if there are not enough others.
      chosen := ARRAY(
        SELECT DISTINCT picked.name FROM copy_sets s CROSS JOIN LATERAL (
          SELECT n.name FROM unnest(s.nodes) AS member JOIN nodes n ON n.id = member AND n.state = 'active'
          LEFT JOIN copies c ON c.multihash = this_hash AND c.codec = this_codec AND c.owner = this_owner AND c.node = n.name
          ORDER BY EXISTS (SELECT 1 FROM copy_absences a WHERE a.cluster_id = s.cluster_id AND a.node = n.name),
            n.is_full AND n.name <> ALL(primaries) AND COALESCE(c.state = 'wanted', TRUE),
            n.name <> ALL(primaries),
            CASE c.state WHEN 'have' THEN 0 WHEN 'damaged' THEN 1 WHEN 'wanted' THEN 2 WHEN 'surplus' THEN 3 ELSE 4 END,
            hashtextextended(n.id || encode(this_hash, 'hex'), 0)
          LIMIT s.copies) AS picked
        WHERE EXISTS (
          SELECT 1 FROM unnest(found_roots) AS root JOIN records r ON r.root_id = root AND r.root_id > 0
          WHERE r.cluster_id = s.cluster_id)
        -- The copies of a node that is away stay as they are.
        UNION SELECT node FROM copies WHERE ${CONTENT} AND state IN ('have', 'damaged')
          AND EXISTS (SELECT 1 FROM copy_absences WHERE copy_absences.node = copies.node));
      INSERT INTO copies (multihash, codec, owner, node, is_fresh)
        SELECT this_hash, this_codec, this_owner, name, fresh FROM unnest(chosen) AS name WHERE name <> ALL(primaries) ORDER BY name
        ON CONFLICT (multihash, codec, owner, node) DO NOTHING;
    END IF;
    -- The records of a node that retires move to copies: those of the sets, or else one on the node that was named.
    receivers := ARRAY(
      SELECT DISTINCT target.name FROM unnest(found_roots) AS root JOIN roots ON roots.id = root
      JOIN nodes ON nodes.number = roots.backend_id / ${BACKENDS_OF_NODE} AND nodes.state = 'retiring'
      JOIN nodes target ON target.name = nodes.retire_to AND target.state = 'active'
      WHERE EXISTS (SELECT 1 FROM records WHERE root_id = root)
        OR EXISTS (SELECT 1 FROM removed_records WHERE root_id = root));
    -- Those of a lost node move to copies, or to a node that has the content for other records.
    IF EXISTS (
        SELECT 1 FROM unnest(found_roots) AS root JOIN roots ON roots.id = root
        JOIN nodes ON nodes.number = roots.backend_id / ${BACKENDS_OF_NODE} AND nodes.state = 'forgetting'
        WHERE EXISTS (SELECT 1 FROM records WHERE root_id = root)
          OR EXISTS (SELECT 1 FROM removed_records WHERE root_id = root)) THEN
      receivers := receivers || primaries[1:1];
    END IF;
    IF receivers <> '{}' AND NOT EXISTS (
        SELECT 1 FROM copies c JOIN nodes ON nodes.name = c.node AND nodes.state = 'active'
        WHERE c.multihash = this_hash AND c.codec = this_codec AND c.owner = this_owner AND c.node = ANY(chosen)
          AND NOT EXISTS (SELECT 1 FROM copy_absences WHERE copy_absences.node = c.node)) THEN
      chosen := chosen || receivers;
      INSERT INTO copies (multihash, codec, owner, node)
        SELECT this_hash, this_codec, this_owner, name FROM unnest(receivers) AS name ORDER BY name
        ON CONFLICT (multihash, codec, owner, node) DO NOTHING;
    END IF;
    UPDATE copies SET state = CASE WHEN node = ANY(chosen) THEN 'have' ELSE 'surplus' END, since = clock_timestamp(),
      due_at = CASE WHEN node = ANY(chosen) OR (SELECT nodes.state FROM nodes WHERE name = copies.node) = 'retiring' THEN 0
        ELSE COALESCE((SELECT keep_until FROM copy_walk), 0) END
      WHERE ${CONTENT}
        AND state = ANY(CASE WHEN node = ANY(chosen) THEN ARRAY['surplus', 'going'] ELSE ARRAY['have'] END);
    -- A node wants the content of its own records back, if its directory lacks it.
    DELETE FROM copies WHERE ${CONTENT} AND (state = 'wanted' AND node <> ALL(chosen || primaries)
      OR node IN (SELECT name FROM nodes WHERE ${HAS_ENDED}));
    -- A hold of a record keeps the same root.
    WITH gone AS (
      DELETE FROM copies WHERE ${CONTENT} AND state IN ('surplus', 'going') AND (
        EXISTS (SELECT 1 FROM records WHERE root_id = copies.root_id AND hold_id IS NOT NULL)
        OR (NOT is_live AND EXISTS (
          SELECT 1 FROM removed_records WHERE root_id = copies.root_id AND hold_id IS NOT NULL)))
      RETURNING hold_id)
      SELECT array_agg(hold_id) INTO ended_holds FROM gone;
    PERFORM void_copies(ended_holds);
    FOR holder IN
      WITH former AS (
        SELECT id, ends, node FROM copies WHERE ${CONTENT} AND hold_id IS NOT NULL AND ends IS DISTINCT FROM last_end
      ), changed AS (
        UPDATE copies SET ends = last_end FROM former WHERE copies.id = former.id RETURNING hold_id
      ), stored AS (
        UPDATE holds SET state = CASE WHEN last_end = 0 THEN 'kept' ELSE 'used' END,
          new_end = COALESCE(last_end, ${Number.MAX_SAFE_INTEGER})
        FROM changed WHERE holds.id = changed.hold_id AND holds.state IN ('used', 'kept')
      )
      -- A later end can wait for the next look of the node.
      SELECT node FROM former WHERE ends IS NULL OR ends > last_end
    LOOP
      PERFORM pg_notify('holdfast_nodes', holder);
    END LOOP;
  END $$;

  -- Decides about the copies of content, in one order, so that two transactions do not wait for each other.
  CREATE FUNCTION follow_copies(hashes BYTEA[], codecs BIGINT[], owners BIGINT[], fresh BOOLEAN DEFAULT FALSE)
  RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    content RECORD;
  BEGIN
    -- Content whose nodes all have records of it has no rows to lock.
    PERFORM pg_advisory_xact_lock(${COPIES_LOCK}, key) FROM (
      SELECT DISTINCT hashtext(encode(multihash, 'hex') || ' ' || owner) AS key
      FROM unnest(hashes, owners) AS given (multihash, owner) ORDER BY key) AS keys;
    PERFORM 1 FROM unnest(hashes, codecs, owners) AS given (multihash, codec, owner)
      JOIN copies c USING (multihash, codec, owner) ORDER BY multihash, codec, owner, node FOR UPDATE OF c;
    FOR content IN
      SELECT * FROM unnest(hashes, codecs, owners) AS given (multihash, codec, owner) ORDER BY multihash, codec, owner
    LOOP
      PERFORM follow_copy(content.multihash, content.codec, content.owner, fresh);
    END LOOP;
  END $$;

  -- Lets nodes keep content as copies that other nodes have not made yet, by the holds of their last records. Returns the
  -- other ones of these holds.
  CREATE FUNCTION holds_without_copies(left_holds TEXT[]) RETURNS TEXT[] LANGUAGE plpgsql AS $$
  DECLARE
    one RECORD;
  BEGIN
    FOR one IN
      SELECT holds.id, root_id, nodes.name, roots.multihash, roots.codec, roots.owner
      FROM holds JOIN roots ON roots.id = root_id JOIN nodes ON nodes.name = holds.node AND nodes.state = 'active'
      WHERE holds.id = ANY(left_holds) AND holds.state IN ('used', 'kept') AND EXISTS (SELECT 1 FROM copy_walk)
        AND NOT EXISTS (SELECT 1 FROM records WHERE records.root_id = roots.id)
        AND EXISTS (
          SELECT 1 FROM copies c WHERE c.multihash = roots.multihash AND c.codec = roots.codec AND c.owner = roots.owner
            AND c.state IN ('wanted', 'damaged'))
      ORDER BY multihash, codec, owner, holds.id
    LOOP
      INSERT INTO copies AS c (multihash, codec, owner, node, state, hold_id, root_id, ends)
        VALUES (one.multihash, one.codec, one.owner, one.name, 'have', one.id, one.root_id, 0)
        ON CONFLICT (multihash, codec, owner, node) DO UPDATE SET state = 'have', since = clock_timestamp(),
          hold_id = one.id, root_id = one.root_id, ends = 0, run = NULL, last_error = NULL
        WHERE c.hold_id IS NULL;
      IF FOUND THEN
        PERFORM follow_copy(one.multihash, one.codec, one.owner, FALSE);
        left_holds := array_remove(left_holds, one.id);
      END IF;
    END LOOP;
    RETURN left_holds;
  END $$;
  ${trigger('records', 'INSERT', { rows: 'NEW TABLE AS changed', changed: 'changed WHERE root_id IS NOT NULL' })}
  ${trigger('records', 'DELETE', { rows: 'OLD TABLE AS changed', changed: 'changed' })}
  ${trigger('records', 'UPDATE', {
    rows: BOTH,
    changed: differing('multihash, codec, owner, root_id, fetch_id, cluster_id, expires_at'),
  })}
  ${trigger('removed_records', 'DELETE', { rows: 'OLD TABLE AS changed', changed: 'changed' })}
  ${trigger('removed_records', 'UPDATE', { rows: BOTH, changed: differing('multihash, codec, owner, root_id') })}
`
