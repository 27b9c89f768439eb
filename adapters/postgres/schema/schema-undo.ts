import { IS_GIVEN_UP } from '../nodes/node-states.ts'
import { NEWEST_SET_BACK } from './schema-set-backs.ts'

const same = (one: string, other: string) =>
  `${one}.account_id = ${other}.account_id AND ${one}.multihash = ${other}.multihash AND ${one}.codec = ${other}.codec`
const live = (of: string) => `SELECT 1 FROM records r WHERE ${same('r', of)} AND r.root_id IS NOT NULL`
const removed = (of: string) =>
  `SELECT k.charge FROM removed_records k WHERE ${same('k', of)} AND k.root_id IS NOT NULL`

/**
 * Returns the statement that changes the kept bytes of accounts by the charge of each content among changed rows,
 * counted once.
 */
function change(sign: '+' | '-', { from, charge, when }: { from: string; charge: string; when: string }): string {
  return `
    UPDATE accounts a SET kept_bytes = a.kept_bytes ${sign} sums.bytes FROM (
      SELECT account_id, SUM(charge)::bigint AS bytes FROM (
        SELECT DISTINCT ON (c.account_id, c.multihash, c.codec) c.account_id, ${charge} AS charge
        FROM ${from} WHERE ${when} ORDER BY c.account_id, c.multihash, c.codec) AS one
      GROUP BY account_id ORDER BY account_id) AS sums
    WHERE a.id = sums.account_id AND sums.bytes <> 0;`
}

const WITH_REMOVED = `CROSS JOIN LATERAL (${removed('c')} LIMIT 1) AS kept`
const gained = (rows: string) =>
  change('-', {
    from: `${rows} c ${WITH_REMOVED}`,
    charge: 'kept.charge',
    when: `c.root_id IS NOT NULL AND NOT EXISTS (${live('c')} AND r.id NOT IN (SELECT id FROM ${rows}))`,
  })
const lost = (rows: string) =>
  change('+', {
    from: `${rows} c ${WITH_REMOVED}`,
    charge: 'kept.charge',
    when: `c.root_id IS NOT NULL AND NOT EXISTS (${live('c')})`,
  })
const removedChange = (sign: '+' | '-', rows: string) =>
  change(sign, {
    from: `${rows} c`,
    charge: 'c.charge',
    when: `c.root_id IS NOT NULL AND NOT EXISTS (${live('c')})
      AND NOT EXISTS (${removed('c')} AND k.id NOT IN (SELECT id FROM ${rows}))`,
  })

function trigger(name: string, { on, rows, does }: { on: string; rows: string; does: string }): string {
  return `
  CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN ${does}
    RETURN NULL;
  END $$;
  CREATE TRIGGER ${name} AFTER ${on} REFERENCING ${rows} FOR EACH STATEMENT EXECUTE FUNCTION ${name}();`
}

/**
 * Returns a query for the rows that have content in one version of the changed rows, and none in the other. A join has
 * the plan of the first, small change, and would compare each row of a later one with each.
 */
function only(rows: string, others: string): string {
  return `SELECT * FROM ${rows} WHERE root_id IS NOT NULL AND id NOT IN (SELECT id FROM ${others} WHERE root_id IS NOT NULL)`
}

/** Nodes that delete nothing at the moment. */
const STOPPED = `
  SELECT node FROM deletion_stops
  UNION ALL SELECT name FROM nodes WHERE offered IS DISTINCT FROM (${NEWEST_SET_BACK}) AND NOT ${IS_GIVEN_UP}`
/** Counts the bytes of deleted rows as released on the nodes that delete nothing. */
const RELEASED = `
  IF EXISTS (${STOPPED}) THEN
    INSERT INTO released_bytes AS known (account_id, node, bytes)
    SELECT account_id, node, SUM(charge) FROM (
      SELECT DISTINCT ON (c.account_id, c.multihash, c.codec) c.account_id, h.node, c.charge
      FROM changed c JOIN holds h ON h.id = c.hold_id
      WHERE c.root_id IS NOT NULL AND h.node IN (${STOPPED}) AND NOT EXISTS (${live('c')}) AND NOT EXISTS (${removed('c')})
      ORDER BY c.account_id, c.multihash, c.codec) AS one
    GROUP BY account_id, node ORDER BY account_id
    ON CONFLICT (node, account_id) DO UPDATE SET bytes = known.bytes + excluded.bytes;
  END IF;`

const AS_CHANGED = { INSERT: 'NEW TABLE AS changed', DELETE: 'OLD TABLE AS changed' }

/**
 * The kept bytes of each account: the charge of each content that its removed records name and none of its records names,
 * counted once. Triggers count them, also for nodes of the previous version.
 */
export const undoPeriodsSchema = `
  ALTER TABLE accounts ADD COLUMN kept_bytes BIGINT NOT NULL DEFAULT 0;
  CREATE INDEX accounts_keeping ON accounts (kept_bytes DESC, id) WHERE kept_bytes > 0;
  CREATE INDEX removed_records_by_content ON removed_records (account_id, multihash, codec) WHERE root_id IS NOT NULL;
  -- why the undo period ended early; null if it did not
  ALTER TABLE bulk_changes ADD COLUMN undo_ended TEXT;
  CREATE INDEX bulk_changes_undoable ON bulk_changes (id) WHERE action = 'delete' AND undo_ms > 0;
${trigger('records_kept_added', { on: 'INSERT ON records', rows: AS_CHANGED.INSERT, does: gained('changed') })}
${trigger('records_kept_gone', { on: 'DELETE ON records', rows: AS_CHANGED.DELETE, does: lost('changed') })}
${trigger('records_kept_changed', {
  on: 'UPDATE ON records',
  rows: 'OLD TABLE AS old_rows NEW TABLE AS new_rows',
  does: `
    IF EXISTS (${only('new_rows', 'old_rows')}) OR EXISTS (${only('old_rows', 'new_rows')}) THEN
      WITH changed AS (${only('new_rows', 'old_rows')}) ${gained('changed')}
      WITH changed AS (${only('old_rows', 'new_rows')}) ${lost('changed')}
    END IF;`,
})}
${trigger('removed_records_kept_added', {
  on: 'INSERT ON removed_records',
  rows: AS_CHANGED.INSERT,
  does: removedChange('+', 'changed'),
})}
${trigger('removed_records_kept_gone', {
  on: 'DELETE ON removed_records',
  rows: AS_CHANGED.DELETE,
  does: removedChange('-', 'changed'),
})}
${trigger('removed_records_kept_emptied', {
  on: 'UPDATE ON removed_records',
  rows: 'OLD TABLE AS old_rows NEW TABLE AS new_rows',
  does: `
    WITH changed AS (${only('old_rows', 'new_rows')})
    ${removedChange('-', 'changed')}`,
})}

  -- Stops of deletion by nodes, and what accounts have released in them.
  CREATE TABLE deletion_stops (node TEXT COLLATE "C" PRIMARY KEY);
  CREATE TABLE released_bytes (
    account_id TEXT COLLATE "C" NOT NULL,
    node TEXT COLLATE "C" NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (node, account_id)
  );
${trigger('records_released', { on: 'DELETE ON records', rows: AS_CHANGED.DELETE, does: RELEASED })}
${trigger('removed_records_released', { on: 'DELETE ON removed_records', rows: AS_CHANGED.DELETE, does: RELEASED })}

  UPDATE accounts a SET kept_bytes = sums.bytes FROM (
    SELECT account_id, SUM(charge)::bigint AS bytes FROM (
      SELECT DISTINCT ON (c.account_id, c.multihash, c.codec) c.account_id, c.charge FROM removed_records c
      WHERE c.root_id IS NOT NULL AND NOT EXISTS (${live('c')})
      ORDER BY c.account_id, c.multihash, c.codec) AS one
    GROUP BY account_id) AS sums
  WHERE a.id = sums.account_id;
`
