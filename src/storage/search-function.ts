import { wordsOf } from '../domain/search-words.ts'

/** Limit of records in one list. The search id of a record is its list's number times this, plus its own number. */
export const LIST_RECORDS = 2 ** 32

/** Numbers of one block of a list. A statement counts the records of a block that have a word in about 2 ms. */
export const BLOCK_RECORDS = 2 ** 15

/** Implements the SQL function `search_words`: returns the words that the index stores for the columns of a record. */
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
