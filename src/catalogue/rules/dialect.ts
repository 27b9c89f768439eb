import { type Fragment, fragment, type RuleStatement, sql } from './statement.ts'

/** SQL that the two databases spell differently, or that only one of them needs. */
export function either(sqlite: string, postgres: string): Fragment {
  return { sqlite, postgres }
}

/** Tells rows of one instant apart, in the order in which they were inserted. */
export const SEQ = either('rowid', 'seq')
/** Locks rows until the transaction ends; SQLite has one writer at a time. */
export const FOR_UPDATE = either('', 'FOR UPDATE')
/** Passes over rows that another transaction has locked. */
export const IF_UNLOCKED = either('', 'FOR UPDATE SKIP LOCKED')

/** Names the index for SQLite, which may take the one that serves `ORDER BY`, and not the selective one. */
export function indexed(name: string): Fragment {
  return either(`INDEXED BY ${name}`, '')
}

/**
 * A statement that deletes the rows of a table with a text `id` that `which` finds; it has a `LIMIT`. PostgreSQL plans
 * `IN (SELECT … LIMIT)` as a join that reads the table whole, and an array not.
 */
export function deleteSome(table: string, which: Fragment): RuleStatement {
  const sqlite = fragment`rowid IN (SELECT rowid FROM ${table} ${which})`
  const postgres = fragment`id = ANY(ARRAY(SELECT id FROM ${table} ${which}))`
  return sql`DELETE FROM ${table} WHERE ${either(sqlite.sqlite, postgres.postgres)}`
}
