function kept(table: 'records' | 'removed_records', condition: string): string {
  const name = `${table}_copies_kept`
  return `
  CREATE TRIGGER ${name} BEFORE UPDATE OF hold_id ON ${table} FOR EACH ROW
    WHEN (OLD.hold_id IS NOT NULL AND NEW.hold_id IS NULL AND ${condition}) EXECUTE FUNCTION keep_copied();
  ALTER TABLE ${table} DISABLE TRIGGER ${name};`
}

/**
 * A node of version 0.3.0 knows no copies. It would call the records of a lost node failed, and so end the last copy of
 * their content. It is refused until a node with a copy has taken over the records.
 */
export const lostCopiesSchema = `
  CREATE FUNCTION keep_copied() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF EXISTS (
      SELECT 1 FROM copies JOIN nodes ON nodes.name = copies.node AND nodes.state IN ('active', 'retiring')
      WHERE copies.multihash = NEW.multihash AND copies.codec = NEW.codec AND copies.owner = NEW.owner
        AND copies.state IN ('have', 'surplus', 'going')) THEN
      RAISE EXCEPTION 'a node with a copy of the content takes over the record';
    END IF;
    RETURN NEW;
  END $$;
  ${kept('records', "OLD.status = 'pinned' AND NEW.lost_with IS NOT NULL")}
  ${kept('removed_records', 'OLD.root_id IS NOT NULL')}
`
