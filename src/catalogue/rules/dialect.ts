import { type Fragment, fragment, type RuleStatement, sql } from './statement.ts'

/** Returns SQL that differs between the databases. The text is empty for a database that does not need it. */
export function either(sqlite: string, postgres: string): Fragment {
  return { sqlite, postgres }
}

/** Column that gives the insertion order. It sorts rows that have the same time. */
export const SEQ = either('rowid', 'seq')
/** Locks rows until the transaction ends. SQLite needs no lock, because it has one writer at a time. */
export const FOR_UPDATE = either('', 'FOR UPDATE')
/** Locks rows until the transaction ends. Skips rows that another transaction has locked. */
export const IF_UNLOCKED = either('', 'FOR UPDATE SKIP LOCKED')

/**
 * In PostgreSQL, the number of a backend is the number of its node times this constant, plus the backend's number on
 * the node.
 */
export const BACKENDS_OF_NODE = 65_536
/** SQL for the number of a backend in the ledger of its node. */
export const LEDGER_BACKEND = either('backend_id', `backend_id % ${BACKENDS_OF_NODE}`)
/** Condition: the id is in the parameter `ids`. */
export const AMONG_IDS = either('IN (SELECT value FROM json_each(:ids))', '= ANY(:ids)')

/**
 * Returns the condition that a flag is true. SQLite uses a partial index only if the query repeats the condition of the
 * index word for word.
 */
export function isSet(column: string): Fragment {
  return either(`${column} = 1`, column)
}

export function isUnset(column: string): Fragment {
  return either(`${column} = 0`, `NOT ${column}`)
}

/**
 * Returns SQL that forces SQLite to use an index. Without this SQL, SQLite may choose an index for `ORDER BY` over a
 * more selective index.
 */
export function indexed(name: string): Fragment {
  return either(`INDEXED BY ${name}`, '')
}

/**
 * Returns the condition that an id is in the result of a query with a `LIMIT`. PostgreSQL compares with an array,
 * because PostgreSQL would plan `IN` as a join.
 */
export function among(found: Fragment): Fragment {
  return either(`IN (${found.sqlite})`, `= ANY(ARRAY(${found.postgres}))`)
}

/**
 * Returns a statement that deletes the rows selected by `which`. The fragment must have a `LIMIT`. PostgreSQL uses an
 * array, because PostgreSQL would plan `IN (SELECT … LIMIT)` as a join over the whole table.
 */
export function deleteSome(table: string, which: Fragment): RuleStatement {
  const sqlite = fragment`rowid IN (SELECT rowid FROM ${table} ${which})`
  const postgres = fragment`id = ANY(ARRAY(SELECT id FROM ${table} ${which}))`
  return sql`DELETE FROM ${table} WHERE ${either(sqlite.sqlite, postgres.postgres)}`
}
