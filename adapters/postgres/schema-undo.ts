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
    when: `c.root_id IS NOT NULL AND NOT EXISTS (${live('c')} AND r.id <> ALL (ARRAY(SELECT id FROM ${rows})))`,
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
      AND NOT EXISTS (${removed('c')} AND k.id <> ALL (ARRAY(SELECT id FROM ${rows})))`,
  })

function trigger(name: string, { on, rows, does }: { on: string; rows: string; does: string }): string {
  return `
  CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN ${does}
    RETURN NULL;
  END $$;
  CREATE TRIGGER ${name} AFTER ${on} REFERENCING ${rows} FOR EACH STATEMENT EXECUTE FUNCTION ${name}();`
}

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
    IF EXISTS (SELECT 1 FROM old_rows b JOIN new_rows n ON n.id = b.id WHERE (b.root_id IS NULL) <> (n.root_id IS NULL)) THEN
      WITH changed AS (SELECT n.* FROM new_rows n JOIN old_rows b ON b.id = n.id WHERE b.root_id IS NULL) ${gained('changed')}
      WITH changed AS (SELECT b.* FROM old_rows b JOIN new_rows n ON n.id = b.id WHERE n.root_id IS NULL) ${lost('changed')}
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
    WITH changed AS (SELECT b.* FROM old_rows b JOIN new_rows n ON n.id = b.id WHERE n.root_id IS NULL)
    ${removedChange('-', 'changed')}`,
})}

  UPDATE accounts a SET kept_bytes = sums.bytes FROM (
    SELECT account_id, SUM(charge)::bigint AS bytes FROM (
      SELECT DISTINCT ON (c.account_id, c.multihash, c.codec) c.account_id, c.charge FROM removed_records c
      WHERE c.root_id IS NOT NULL AND NOT EXISTS (${live('c')})
      ORDER BY c.account_id, c.multihash, c.codec) AS one
    GROUP BY account_id) AS sums
  WHERE a.id = sums.account_id;
`
