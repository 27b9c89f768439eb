import { type Fragment, fragment, type RuleStatement, sql } from './statement.ts'

/** Returns SQL that differs between the databases, and is empty for a database that does not need it. */
export function either(sqlite: string, postgres: string): Fragment {
  return { sqlite, postgres }
}

/** Column of the insertion order, which sorts rows of the same time. */
export const SEQ = either('rowid', 'seq')
/** Locks rows until the transaction ends. SQLite needs no lock, because it has one writer at a time. */
export const FOR_UPDATE = either('', 'FOR UPDATE')
/** Like {@link FOR_UPDATE}, but skips locked rows. */
export const IF_UNLOCKED = either('', 'FOR UPDATE SKIP LOCKED')

/**
 * In PostgreSQL, the number of a backend is the number of its node times this constant, plus its number on the node.
 */
export const BACKENDS_OF_NODE = 65_536
/** Number of a backend in the ledger of its node. */
export const LEDGER_BACKEND = either('backend_id', `backend_id % ${BACKENDS_OF_NODE}`)
export const AMONG_IDS = either('IN (SELECT value FROM json_each(:ids))', '= ANY(:ids)')

/**
 * Returns the condition that a flag is true. SQLite uses a partial index only if the query repeats the index's
 * condition word for word.
 */
export function isSet(column: string): Fragment {
  return either(`${column} = 1`, column)
}

export function isUnset(column: string): Fragment {
  return either(`${column} = 0`, `NOT ${column}`)
}

/** Forces SQLite to use an index. Otherwise SQLite may choose an index for `ORDER BY` over a more selective index. */
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
 * Returns a statement that deletes the rows selected by `which`, which must have a `LIMIT`.
 * PostgreSQL would plan `IN (SELECT … LIMIT)` as a join over the whole table.
 */
export function deleteSome(table: string, which: Fragment): RuleStatement {
  const sqlite = fragment`rowid IN (SELECT rowid FROM ${table} ${which})`
  const postgres = fragment`id = ANY(ARRAY(SELECT id FROM ${table} ${which}))`
  return sql`DELETE FROM ${table} WHERE ${either(sqlite.sqlite, postgres.postgres)}`
}

/** Returns the statement that deletes some rows of an account in a table, for the declaration of the table. */
export function purgeOf(table: string): RuleStatement {
  return deleteSome(table, fragment`WHERE account_id = :id LIMIT :limit`)
}
