import type { AccountVersion, AccountVersions } from '../../../src/catalogue/shared-catalogue.ts'
import type { Postgres } from '../database/postgres.ts'
import { accountReads } from './account-reads.ts'

const VERSIONS = `
  SELECT one.id, (SELECT COALESCE(SUM(version), 0)::bigint FROM account_versions WHERE account_id = one.id) AS version,
    (SELECT MIN(expires_at) FROM records WHERE account_id = one.id AND expires_at IS NOT NULL) AS "nextExpiry"
  FROM unnest($1::text[]) AS one (id)`

/** Returns the versions that the triggers of {@link versionsSchema} raise. */
export function accountVersions(database: Postgres): AccountVersions {
  const read = accountReads<{ id: string; version: number; nextExpiry: number | null }>(database, VERSIONS)
  return {
    of: async (accountId): Promise<AccountVersion> => {
      const { version = 0, nextExpiry = null } = (await read(accountId)) ?? {}
      return { version: String(version), nextExpiry }
    },
  }
}
