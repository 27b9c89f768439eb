import { sql } from '../../catalogue/rules/statement.ts'
import type { Declaration } from '../feature.ts'

const DAY_MS = 86_400_000
const OLDEST = sql<{ at: number }>`SELECT created_at AS at FROM audit WHERE created_at >= 0 ORDER BY created_at LIMIT 1`

/** The audit log: who did what, when and from where. */
export const audit: Declaration = {
  name: 'audit',
  tables: [
    {
      name: 'audit',
      account: 'account_id',
      move: {
        columns: `id bigint, key text, actor text, number bigint, created_at bigint, last_at bigint, times bigint,
          account_id text, credential text, credential_id text, address text, action text, outcome text, subject text`,
      },
    },
  ],
  due: {
    // Each write of entries also deletes some. Without writes, the first deletion is due when an entry expires.
    at: async ({ driver }, { audit: { keepDays } }) => {
      const oldest = await driver.first(OLDEST)
      return oldest === null ? null : oldest.at + keepDays * DAY_MS
    },
    followsRecords: false,
  },
}
