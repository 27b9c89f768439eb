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

/** How many numbers of backends each node of a fleet has: in PostgreSQL a backend is known by its node's and its own. */
export const BACKENDS_OF_NODE = 65_536
/** The number of a backend in the ledger that has it. */
export const LEDGER_BACKEND = either('backend_id', `backend_id % ${BACKENDS_OF_NODE}`)
/** A condition on an id: it is one of the parameter `ids`. */
export const AMONG_IDS = either('IN (SELECT value FROM json_each(:ids))', '= ANY(:ids)')

/** A condition that a flag is set; SQLite uses a partial index only for the words that it was made with. */
export function isSet(column: string): Fragment {
  return either(`${column} = 1`, column)
}

/** A condition that a flag is not set. */
export function isUnset(column: string): Fragment {
  return either(`${column} = 0`, `NOT ${column}`)
}

/** Names the index that SQLite uses: without it, it may take the one that serves `ORDER BY`, and not the selective one. */
export function indexed(name: string): Fragment {
  return either(`INDEXED BY ${name}`, '')
}

/** A condition that an id is among those that a query with a `LIMIT` finds. PostgreSQL plans `IN` as a join there. */
export function among(found: Fragment): Fragment {
  return either(`IN (${found.sqlite})`, `= ANY(ARRAY(${found.postgres}))`)
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
