/** Number of records up to which an announcement of their root notes each account. With more, it notes all accounts. */
const NOTED_RECORDS = 64

/**
 * Temporary triggers, which only this connection has. They call `account_changed` with each account whose lists or
 * statuses a change affects, or with null for all accounts. A statement of another connection changes its
 * `data_version` instead.
 */
export const accountTriggers = `
  CREATE TEMP TRIGGER record_added AFTER INSERT ON main.records BEGIN SELECT account_changed(NEW.account_id); END;
  CREATE TEMP TRIGGER record_changed AFTER UPDATE ON main.records BEGIN SELECT account_changed(NEW.account_id); END;
  CREATE TEMP TRIGGER record_removed AFTER DELETE ON main.records BEGIN SELECT account_changed(OLD.account_id); END;
  -- The plan bounds a page, and the counters are the totals of lists.
  CREATE TEMP TRIGGER account_updated AFTER UPDATE ON main.accounts BEGIN SELECT account_changed(NEW.id); END;
  -- A status says when its content was announced. The other columns of a complete root never change in an answer.
  CREATE TEMP TRIGGER root_announced AFTER UPDATE OF announced_at ON main.roots BEGIN
    SELECT account_changed(account_id) FROM (SELECT account_id FROM records WHERE root_id = NEW.id LIMIT ${NOTED_RECORDS});
    SELECT account_changed(NULL) FROM (SELECT 1 FROM records WHERE root_id = NEW.id LIMIT 1 OFFSET ${NOTED_RECORDS});
  END;
`
