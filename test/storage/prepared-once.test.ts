import { expect, test, vi } from 'vitest'
import type { SqlValue } from '../../src/storage/database.ts'
import { newDatabase } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'

/**
 * Counts how often statements that return rows are prepared during `work`: each preparation creates a new row function,
 * which better-sqlite3 compiles.
 */
function prepared(work: () => void): number {
  const compile = vi.spyOn(globalThis, 'Function')
  try {
    work()
    return compile.mock.calls.length
  } finally {
    compile.mockRestore()
  }
}

const RECURSIVE = `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9)`
const TABLES = `SELECT m.name FROM sqlite_schema m JOIN sqlite_schema i ON i.tbl_name = m.name`

test.each<[what: string, sql: string, values: SqlValue[]]>([
  ['a limit', `${RECURSIVE} SELECT n FROM numbers WHERE n > ? LIMIT ?`, [2, 3]],
  ['a limit and an offset', `${RECURSIVE} SELECT n FROM numbers LIMIT ? OFFSET ?`, [2, 3]],
  [
    'a condition that no index serves',
    `${TABLES} WHERE m.type = ? AND m.rootpage > ? AND i.type = ?`,
    ['table', 0, 'index'],
  ],
])('a statement with %s is prepared once for all runs', (_, sql, values) =>
  withTempDir(async dir => {
    const db = newDatabase(dir)
    try {
      const statement = db.prepare<SqlValue[]>(sql)
      const runs = prepared(() => {
        for (let run = 0; run < 5; run++) expect(statement.all(...values)).not.toHaveLength(0)
      })
      expect(runs).toBe(1)
    } finally {
      db.close()
    }
  }),
)
