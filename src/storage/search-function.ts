import type SqliteDatabase from 'better-sqlite3'
import { folded, wordsOf } from '../domain/search-words.ts'

/**
 * Maximum number of records in one list. A search id is the number of the list times this constant, plus the number of
 * the record.
 */
export const LIST_RECORDS = 2 ** 32

/** Counting the records of a block by the index `records_by_search` takes about 2 ms. */
export const BLOCK_RECORDS = 2 ** 15

/** Adds the SQL functions that migrations and searches call. */
export function addSearchFunctions(sqlite: Pick<SqliteDatabase.Database, 'function'>): void {
  sqlite.function('search_words', { deterministic: true, varargs: true }, searchWords)
  sqlite.function('folded_name', { deterministic: true }, foldedName)
  sqlite.function('has_meta', { deterministic: true }, hasMeta)
}

function searchWords(...columns: unknown[]): string {
  const [searchId, name, , , multihash, , meta] = columns
  const words = wordsOf(Math.floor(Number(searchId) / BLOCK_RECORDS), {
    name: typeof name === 'string' ? name : null,
    multihash: multihash instanceof Uint8Array ? multihash : new Uint8Array(),
    meta: metaOf(meta),
  })
  return words.join(' ')
}

/** Returns the folded name of a record, or null if it is equal to the name. */
export function foldedName(name: unknown): string | null {
  if (typeof name !== 'string') return null
  const found = folded(name)
  return found === name ? null : found
}

function hasMeta(stored: unknown, wanted: unknown): number {
  const meta = metaOf(stored)
  // An inherited property is never a text, so it never equals a wanted value.
  return Object.entries(metaOf(wanted)).every(([key, value]) => meta[key] === value) ? 1 : 0
}

function metaOf(text: unknown): Record<string, string> {
  return typeof text === 'string' ? (JSON.parse(text) as Record<string, string>) : {}
}
