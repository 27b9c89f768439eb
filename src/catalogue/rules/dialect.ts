import { type Fragment, fragment, type RuleStatement, sql } from './statement.ts'

/** Returns SQL that differs between the databases, or that only one of them needs. */
export function either(sqlite: string, postgres: string): Fragment {
  return { sqlite, postgres }
}

/** Insertion order. Orders rows with the same time. */
export const SEQ = either('rowid', 'seq')
/** Locks rows until the transaction ends. SQLite needs no lock, because it has one writer at a time. */
export const FOR_UPDATE = either('', 'FOR UPDATE')
/** Locks rows, and skips those that another transaction has locked. */
export const IF_UNLOCKED = either('', 'FOR UPDATE SKIP LOCKED')

/** In PostgreSQL, the number of a backend is its node's number times this, plus its number on the node. */
export const BACKENDS_OF_NODE = 65_536
/** The number of a backend in the ledger of its node. */
export const LEDGER_BACKEND = either('backend_id', `backend_id % ${BACKENDS_OF_NODE}`)
/** Condition: the id is in the parameter `ids`. */
export const AMONG_IDS = either('IN (SELECT value FROM json_each(:ids))', '= ANY(:ids)')

/** Returns the condition that a flag is set. SQLite uses a partial index only if the query repeats its exact words. */
export function isSet(column: string): Fragment {
  return either(`${column} = 1`, column)
}

export function isUnset(column: string): Fragment {
  return either(`${column} = 0`, `NOT ${column}`)
}

/** Forces the index that SQLite uses. Otherwise SQLite may prefer an index for `ORDER BY` to a more selective one. */
export function indexed(name: string): Fragment {
  return either(`INDEXED BY ${name}`, '')
}

/**
 * Returns the condition that an id is in the result of a query with a `LIMIT`. PostgreSQL would plan `IN` as a join.
 */
export function among(found: Fragment): Fragment {
  return either(`IN (${found.sqlite})`, `= ANY(ARRAY(${found.postgres}))`)
}

/**
 * Returns a statement that deletes the rows found by `which`, which needs a `LIMIT`. PostgreSQL would plan `IN (SELECT
 * … LIMIT)` as a join over the whole table; an array avoids that.
 */
export function deleteSome(table: string, which: Fragment): RuleStatement {
  const sqlite = fragment`rowid IN (SELECT rowid FROM ${table} ${which})`
  const postgres = fragment`id = ANY(ARRAY(SELECT id FROM ${table} ${which}))`
  return sql`DELETE FROM ${table} WHERE ${either(sqlite.sqlite, postgres.postgres)}`
}
