import { keptBytesSchema } from './schema-kept.ts'

/** Changes of the next release. */
export const nextSchema = `
  -- The accounts that have a root, for the payer of its traffic.
  CREATE INDEX records_by_owner ON records (root_id, account_id, created_at, expires_at) WHERE root_id IS NOT NULL;
  ${keptBytesSchema}
`
