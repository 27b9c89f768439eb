import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { RecordSearch } from '../../src/catalogue/records.ts'
import { knownStatements } from '../../src/catalogue/rules/statement.ts'
import { BlockSearch } from '../../src/catalogue/sqlite/block-search.ts'
import { CensusTable } from '../../src/catalogue/sqlite/census-table.ts'
import { questionOf } from '../../src/catalogue/sqlite/record-question.ts'
import { SearchIndex } from '../../src/catalogue/sqlite/search-index.ts'
import { sqliteAccess } from '../../src/catalogue/sqlite/sqlite-access.ts'
import { sqliteContent } from '../../src/catalogue/sqlite/sqlite-content.ts'
import { Announcements } from '../../src/ledger/announcements.ts'
import {
  backendAt,
  backendOf,
  backends,
  hasBlocks,
  hasRoots,
  insertBackend,
  setClusters,
  updateBackend,
} from '../../src/ledger/backend-table.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import { Claims } from '../../src/ledger/claims.ts'
import { ClusterCheckProgress } from '../../src/ledger/cluster-check-progress.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { ReachWalks } from '../../src/ledger/reach-walks.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import { WithheldLedger } from '../../src/ledger/withheld.ts'
import { Database, type SqlValue, type Statement } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { ANY_SEARCH } from '../catalogue/content-support.ts'
import { featureStores } from '../catalogue/feature-stores.ts'
import { withTempDir } from '../support/temp-dir.ts'

/**
 * The plan of each statement, its bound and the reason for it. A missing or changed row fails the test.
 * `UPDATE_PLANS=1` writes the plans again with the existing bounds and reasons, for review.
 */
const FILE = join(import.meta.dirname, 'statement-plans.json')

interface Row {
  sql: string
  plan: string[]
  /** Limit of visited rows: `one row`, `a page` or `a batch` (its LIMIT), `the waiting`, … */
  bound: string
  why: string
}

class ListeningDatabase extends Database {
  readonly heard = new Set<string>()

  override prepare<Params extends SqlValue[], Row = unknown>(sql: string): Statement<Params, Row> {
    // A base class opens the database before this one has its set.
    this.heard?.add(sql.replaceAll(/\s+/g, ' ').trim())
    return super.prepare<Params, Row>(sql)
  }

  planOf(sql: string): string[] {
    const values = (sql.match(/\?/g) ?? []).map(() => null)
    const rows = super.prepare<SqlValue[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values)
    return rows.map(({ detail }) => detail)
  }
}

function withStatements(run: (plans: Map<string, string[]>) => void): Promise<void> {
  return withTempDir(async dir => {
    const db = new ListeningDatabase(join(dir, 'holdfast.db'))
    try {
      const roots = new RootTable(db)
      new CensusTable(db)
      new ClusterCheckProgress(db, new WriteQueue(db))
      new Announcements(db, new WriteQueue(db))
      const blocks = new BlockTable(db)
      const claims = new Claims(db, blocks, new WriteQueue(db))
      new WithheldLedger(db, blocks, new WriteQueue(db))
      new ReachWalks(db, new WriteQueue(db))
      sqliteContent(db, new WriteQueue(db), { roots, holds: new Holds(db, roots), blocks, claims })
      featureStores(sqliteAccess(db, new WriteQueue(db)).rules)
      // Statements of the rules are prepared at their first use.
      for (const { sqlite } of knownStatements()) if (sqlite.text !== '') db.prepare(sqlite.text)
      useBackends(db)
      useSearches(db)
      run(new Map([...db.heard].map(sql => [sql, db.planOf(sql)])))
    } finally {
      db.close()
    }
  })
}

/** Runs the statements on the table of backends, which are prepared at each call. */
function useBackends(db: Database): void {
  const id = insertBackend(db, '/far', 'identity')
  updateBackend(db, { id, dataDir: '/farther', identity: 'identity' })
  backendAt(db, '/farther')
  backendOf(db, 'identity')
  backends(db)
  hasBlocks(db, id)
  hasRoots(db, id)
  setClusters(db, id, 'far')
}

/** Prepares the statements of searches, which depend on the question. */
function useSearches(db: Database): void {
  const search = new BlockSearch(db, new SearchIndex(db, new WriteQueue(db)))
  const multihashes = [Buffer.from('one'), Buffer.from('two')]
  const names = [{ text: 'name', match: 'ipartial' as const }]
  const meta = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`key ${i}`, 'yes']))
  const block = { first: 1, last: 2 ** 15 - 1, number: 0, isSure: false, isFull: false, hasChanged: true }
  const use = (asked: Partial<RecordSearch>, isRare: boolean): void => {
    const filter = {
      accountId: 'one',
      multihash: null,
      hasExpiration: false,
      now: 1,
      search: { ...ANY_SEARCH, ...asked },
    }
    const question = questionOf(filter)
    for (const oldestFirst of [false, true]) {
      const found = search.find(isRare ? question : { ...question, required: () => [] }, block, oldestFirst)
      found.count()
      found.rows(1, 0)
    }
  }
  use({ names, meta, types: ['file'], statuses: ['pinned'], before: 1, after: 0 }, true)
  use({ names, types: ['file'], statuses: ['pinned'], visibility: 'private' }, false)
  use({ names, multihashes, before: 1, after: 0 }, false)
  use({ meta }, false)
}

function stored(): Row[] {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Row[]
}

describe('statements of ledger and catalogue', () => {
  test('each has its recorded plan, bound and reason', async () => {
    await withStatements(plans => {
      if (process.env.UPDATE_PLANS === '1') {
        const known = new Map(stored().map(row => [row.sql, row]))
        const rows = [...plans].map(([sql, plan]) => ({ bound: '', why: '', ...known.get(sql), sql, plan }))
        writeFileSync(FILE, `${JSON.stringify(rows, null, 2)}\n`)
      }
      const rows = stored()
      expect(Object.fromEntries(plans)).toEqual(Object.fromEntries(rows.map(({ sql, plan }) => [sql, plan])))
      expect(rows.filter(({ bound, why }) => bound === '' || why === '').map(({ sql }) => sql)).toEqual([])
    })
  })

  test('none sorts its results or scans a table that grows', async () => {
    await withStatements(plans => {
      for (const [sql, plan] of plans) {
        expect(
          plan.filter(step => step.includes('TEMP B-TREE') && !sql.includes('DISTINCT')),
          sql,
        ).toEqual([])
        // An index that SQLite builds for one statement is a scan, too.
        expect(plan.join('\n'), sql).not.toContain('AUTOMATIC')
        const scans = plan.filter(
          step =>
            step.startsWith('SCAN') &&
            !/SCAN (pragma_|counters|removals|backends|second_factors|minted|uncompared$|live$|waiting$|held$|owners$|first_roots$|place$|json_each |CONSTANT ROW|\(subquery)/.test(
              step,
            ),
        )
        // A partial index of matching rows may be read from its start. The index of words may be read at a number, or
        // between two.
        const bounded = /USING (COVERING )?INDEX|^SCAN record_search VIRTUAL TABLE INDEX \d+:(M1><|=)$/
        const unbounded = scans.filter(step => !bounded.test(step))
        expect(unbounded, sql).toEqual([])
      }
    })
  })
})
