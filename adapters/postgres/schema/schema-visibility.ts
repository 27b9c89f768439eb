import type { Sql } from '../database/sql.ts'
import { statementsOf } from '../database/statements-of.ts'

/** Its number in `schema_versions`. A node of version 0.3.0 refuses a database with it. */
export const VISIBILITY_VERSION = 1_000

/**
 * Changes that a node of version 0.3.0 cannot live with: content may have a public root and roots of accounts. A new
 * database has them from the start. In an older one, `holdfast visibility enable` makes them once.
 */
const visibilitySchema = `
  CREATE UNIQUE INDEX roots_public ON roots (multihash, codec, backend_id) WHERE owner = 0;
  ALTER TABLE roots DROP CONSTRAINT roots_multihash_codec_backend_id_key;
  ALTER TABLE fetches DROP CONSTRAINT fetches_multihash_codec_backend_id_key;
  ALTER TABLE fetches ADD UNIQUE (multihash, codec, backend_id, owner);
  CREATE INDEX root_files_public ON root_files (multihash) WHERE owner = 0;
  CREATE INDEX root_files_private ON root_files (multihash, owner) WHERE owner <> 0;
  DROP INDEX root_files_by_cid;
`

/** Returns whether records may be private. */
export async function hasVisibility(sql: Pick<Sql, 'first'>): Promise<boolean> {
  return (await sql.first('SELECT 1 FROM schema_versions WHERE version = $1', [VISIBILITY_VERSION])) !== undefined
}

/** Repeating it changes nothing. */
export async function applyVisibility(sql: Sql): Promise<void> {
  if (await hasVisibility(sql)) return
  for (const statement of statementsOf(visibilitySchema)) await sql.run(statement)
  await sql.run('INSERT INTO schema_versions (version, tolerated) VALUES ($1, FALSE)', [VISIBILITY_VERSION])
}
