const SAME = (row: string) => `account_id = ${row}.account_id AND multihash = ${row}.multihash AND codec = ${row}.codec`
const LIVE = (row: string) => `SELECT 1 FROM records WHERE ${SAME(row)} AND root_id IS NOT NULL`
const REMOVED = (row: string) => `SELECT charge FROM removed_records WHERE ${SAME(row)} AND root_id IS NOT NULL`

/** Returns the body of a trigger that changes the kept bytes of the account of `row`. */
function change(row: string, sign: '+' | '-', when: string): string {
  return `
    UPDATE accounts SET kept_bytes = kept_bytes ${sign} (${REMOVED(row)} LIMIT 1)
    WHERE id = ${row}.account_id AND EXISTS (${REMOVED(row)}) AND ${when};`
}

const gained = (row: string) => change(row, '-', `NOT EXISTS (${LIVE(row)} AND id <> ${row}.id)`)
const lost = (row: string) => change(row, '+', `NOT EXISTS (${LIVE(row)})`)

function removedChange(row: string, sign: '+' | '-'): string {
  return `
    UPDATE accounts SET kept_bytes = kept_bytes ${sign} ${row}.charge
    WHERE id = ${row}.account_id AND NOT EXISTS (${LIVE(row)}) AND NOT EXISTS (${REMOVED(row)} AND id <> ${row}.id);`
}

/** Returns a trigger that counts bytes of a deleted row as released, while deletion is stopped. */
function released(name: string, { on, when, charge }: { on: string; when: string; charge: string }): string {
  return `
  CREATE TRIGGER ${name} AFTER DELETE ON ${on} WHEN ${when} AND EXISTS (SELECT 1 FROM deletion_stops)
  BEGIN
    INSERT INTO released_bytes (account_id, node, bytes)
    SELECT OLD.account_id, '', ${charge} WHERE NOT EXISTS (${LIVE('OLD')}) AND NOT EXISTS (${REMOVED('OLD')})
    ON CONFLICT (account_id, node) DO UPDATE SET bytes = bytes + excluded.bytes;
  END;`
}

/**
 * The kept bytes of each account: the charge of each content that its removed records name and none of its records names,
 * counted once. Triggers count them, so no statement that changes a record can forget them.
 */
export const keptBytesSchema = `
  ALTER TABLE accounts ADD COLUMN kept_bytes INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX accounts_keeping ON accounts (kept_bytes DESC, id) WHERE kept_bytes > 0;
  CREATE INDEX removed_records_by_content ON removed_records (account_id, multihash, codec) WHERE root_id IS NOT NULL;
  -- Why the undo period ended early. Null if it did not.
  ALTER TABLE bulk_changes ADD COLUMN undo_ended TEXT;
  CREATE INDEX bulk_changes_undoable ON bulk_changes (id) WHERE action = 'delete' AND undo_ms > 0;

  UPDATE accounts SET kept_bytes = (
    SELECT COALESCE(SUM(charge), 0) FROM (
      SELECT MAX(charge) AS charge FROM removed_records gone
      WHERE account_id = accounts.id AND root_id IS NOT NULL AND NOT EXISTS (${LIVE('gone')})
      GROUP BY multihash, codec)
  ) WHERE id IN (SELECT account_id FROM removed_records);

  CREATE TRIGGER records_kept_added AFTER INSERT ON records WHEN NEW.root_id IS NOT NULL
  BEGIN ${gained('NEW')} END;
  CREATE TRIGGER records_kept_gone AFTER DELETE ON records WHEN OLD.root_id IS NOT NULL
  BEGIN ${lost('OLD')} END;
  CREATE TRIGGER records_kept_filled AFTER UPDATE OF root_id ON records
    WHEN OLD.root_id IS NULL AND NEW.root_id IS NOT NULL
  BEGIN ${gained('NEW')} END;
  CREATE TRIGGER records_kept_emptied AFTER UPDATE OF root_id ON records
    WHEN OLD.root_id IS NOT NULL AND NEW.root_id IS NULL
  BEGIN ${lost('OLD')} END;
  CREATE TRIGGER removed_records_kept_added AFTER INSERT ON removed_records WHEN NEW.root_id IS NOT NULL
  BEGIN ${removedChange('NEW', '+')} END;
  CREATE TRIGGER removed_records_kept_gone AFTER DELETE ON removed_records WHEN OLD.root_id IS NOT NULL
  BEGIN ${removedChange('OLD', '-')} END;

  -- Stops of deletion, and what accounts have released in them. The node is empty: the catalogue has only one.
  CREATE TABLE deletion_stops (node TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE released_bytes (
    account_id TEXT NOT NULL,
    node TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (node, account_id)
  ) STRICT, WITHOUT ROWID;
  ${released('records_released', { on: 'records', when: 'OLD.root_id IS NOT NULL', charge: 'OLD.charge' })}
  ${released('removed_records_released', { on: 'removed_records', when: 'OLD.root_id IS NOT NULL', charge: 'OLD.charge' })}
`
