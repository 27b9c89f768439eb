import { keptBytesSchema } from './schema-kept.ts'
import { ownersSchema } from './schema-owners.ts'
import { searchNamesSchema } from './schema-search-names.ts'

/** Changes of version 0.4.0. */
export const changes040Schema = `
  -- When the user of a sign-in that the console keeps last proved to be there. Null for a session that is not kept, and
  -- for a key since its creation.
  ALTER TABLE sessions ADD COLUMN proved_at INTEGER;
  ALTER TABLE api_keys ADD COLUMN proved_at INTEGER;

  -- The accounts that have a root, for the payer of its traffic.
  CREATE INDEX records_by_owner ON records (root_id, account_id, created_at, expires_at) WHERE root_id IS NOT NULL;
  ${keptBytesSchema}

  ${ownersSchema}

  ${searchNamesSchema}
`
