import type { Records } from '../../src/catalogue/records.ts'
import { recordRules } from '../../src/catalogue/rules/record-rules.ts'
import type { ContentParts } from './content-change.ts'
import { ownStep, PostgresDriver } from './postgres-driver.ts'
import { RecordCommits } from './record-commits.ts'
import { RecordLists } from './record-lists.ts'
import { foundBy } from './record-rows.ts'

/** Records in PostgreSQL. Their content is held in the ledgers of the nodes. */
export function postgresRecords(parts: ContentParts): Records {
  const { database, holds } = parts
  const commits = new RecordCommits(parts)
  const lists = new RecordLists(database)
  return {
    ...recordRules(new PostgresDriver(database), {
      found: foundBy,
      release: records =>
        ownStep(sql =>
          holds.void(
            sql,
            records.flatMap(({ holdId }) => holdId ?? []),
          ),
        ),
      // The records are removed by now. If the ledger fails, a later call releases their holds.
      dropReleased: async () => void (await holds.releaseVoid().catch(() => undefined)),
    }),
    commit: (intents, token) => commits.commit(intents, token),
    page: (filter, offset, limit) => lists.page(filter, offset, limit),
    walk: (filter, page) => lists.walk(filter, page),
  }
}
