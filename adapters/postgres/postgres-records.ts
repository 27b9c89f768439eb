import type { Records } from '../../src/catalogue/records.ts'
import { recordRules } from '../../src/catalogue/rules/record-rules.ts'
import { type HeldRecord, heldRecord } from '../../src/catalogue/rules/removal-rules.ts'
import { selectList } from '../../src/catalogue/rules/statement.ts'
import type { ContentParts } from './content-change.ts'
import { ownStep, PostgresDriver } from './postgres-driver.ts'
import { RecordCommits } from './record-commits.ts'
import { RecordLists } from './record-lists.ts'
import { foundBy } from './record-rows.ts'

/** Locks the records in the order of their ids, to avoid deadlocks. */
const REMOVE = `
  DELETE FROM records WHERE id = ANY(ARRAY(SELECT id FROM records WHERE id = ANY($1) ORDER BY id FOR UPDATE))
  RETURNING ${selectList(heldRecord).postgres}`

export function postgresRecords(parts: ContentParts): Records {
  const { database, holds } = parts
  const commits = new RecordCommits(parts)
  const lists = new RecordLists(database)
  return {
    ...recordRules(new PostgresDriver(database), {
      found: foundBy,
      remove: records =>
        ownStep(async sql => {
          const ids = records.map(({ id }) => id)
          const removed = new Map((await sql.all<HeldRecord>(REMOVE, [ids])).map(row => [row.id, row]))
          const rows = ids.flatMap(id => removed.get(id) ?? [])
          await holds.void(
            sql,
            rows.flatMap(({ holdId }) => holdId ?? []),
          )
          return rows.map(({ holdId: _, ...row }) => row)
        }),
      // The records are already removed. If the ledger fails now, a later call releases their holds.
      dropReleased: async () => void (await holds.releaseVoid().catch(() => undefined)),
    }),
    commit: (intents, token) => commits.commit(intents, token),
    page: (filter, offset, limit) => lists.page(filter, offset, limit),
    walk: (filter, page) => lists.walk(filter, page),
  }
}
