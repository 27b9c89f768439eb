import { type Holds, MUTED } from '../../ledger/holds.ts'
import type { Database } from '../../storage/database.ts'
import { foldedName } from '../../storage/search-function.ts'
import type { CoreCatalogue } from '../catalogue.ts'
import type { Records } from '../records.ts'
import { bulkRules } from '../rules/bulk-rules.ts'
import { own } from '../rules/driver.ts'
import { type RecordParts, recordRules, takeUse } from '../rules/record-rules.ts'
import type { RecordCommit } from './record-commit.ts'
import type { RecordPages } from './record-pages.ts'
import { RecordSearches } from './record-searches.ts'
import type { RecordTable } from './record-table.ts'
import type { SearchIndex } from './search-index.ts'
import type { SqliteDriver } from './sqlite-driver.ts'

export function sqliteRecords(parts: {
  db: Database
  driver: SqliteDriver
  table: RecordTable
  holds: Holds
  commit: RecordCommit
  pages: RecordPages
  searchIndex: SearchIndex
  setOwner: Records['setOwner']
}): Pick<CoreCatalogue, 'records' | 'bulk'> {
  const { db, driver, table, holds, commit, pages, searchIndex } = parts
  const searches = new RecordSearches(db, table, searchIndex)
  const removal: RecordParts = {
    found: record => {
      table.found(record)
      return { foldedName: foldedName(record.name) }
    },
    remove: (records, isCurrent) =>
      own(() => {
        const rows = isCurrent ? [...records] : records.flatMap(({ id }) => table.get(id) ?? [])
        for (const { id } of rows) {
          table.delete(id)
          holds.release(id)
        }
        return rows
      }),
    uncounted: (record, count) => table.found(record, count),
    removed: records => {
      for (const record of records) pages.removed(record)
    },
    dropReleased: async () => undefined,
  }
  const bulk = bulkRules(driver, {
    ...removal,
    node: '',
    keep: records =>
      own(() => {
        for (const { id } of records) {
          table.delete(id)
          holds.setEnds(id, MUTED)
        }
        return [...records]
      }),
    unkeep: ({ id, expiresAt }) => own(() => holds.setEnds(id, expiresAt)),
    expiring: (record, by) => own(() => table.found(record, { pins: 0, expiringPins: by, storedBytes: 0 })),
    release: records =>
      own(() => {
        for (const { id } of records) holds.release(id)
      }),
    added: records => {
      for (const record of records) pages.added(record)
    },
    backends: inLedger => inLedger,
  })
  const records: Records = {
    ...recordRules(driver, removal),
    takesBlocks: true,
    setOwner: parts.setOwner,
    commit: (intents, token) =>
      driver.transaction(
        function* () {
          if (token !== undefined) yield* takeUse(token)
          return intents.map(intent => commit.commit(intent))
        },
        {
          committed: made => {
            for (const { record, created } of made) if (created) pages.added(record)
          },
        },
      ),
    page: async (filter, offset, limit) => {
      const { search } = filter
      return search === undefined
        ? pages.page(filter, offset, limit)
        : searches.page({ ...filter, search }, offset, limit)
    },
    walk: async (filter, page) => {
      const { search } = filter
      return search === undefined ? pages.walk(filter, page) : searches.walk({ ...filter, search }, page)
    },
  }
  return { records, bulk }
}
