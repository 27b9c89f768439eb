import { wordsOf } from '../domain/search-words.ts'

/**
 * Maximum number of records in one list. The search id of a record is the number of its list times this constant, plus
 * the record's own number.
 */
export const LIST_RECORDS = 2 ** 32

/**
 * Number of search ids in one block of a list. A statement takes about 2 ms to count the records of a block that
 * contain a word.
 */
export const BLOCK_RECORDS = 2 ** 15

/**
 * Implements the SQL function `search_words`. Returns the words that the search index stores for a record with the
 * given columns.
 */
export function searchWords(...columns: unknown[]): string {
  const [searchId, name, type, status, multihash, expiresAt, meta] = columns
  const words = wordsOf(Math.floor(Number(searchId) / BLOCK_RECORDS), {
    name: typeof name === 'string' ? name : null,
    type: String(type),
    status: String(status),
    multihash: multihash instanceof Uint8Array ? multihash : new Uint8Array(),
    expires: expiresAt !== null,
    meta: typeof meta === 'string' ? (JSON.parse(meta) as Record<string, string>) : {},
  })
  return words.join(' ')
}
