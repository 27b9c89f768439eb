import { wordsOf } from '../domain/search-words.ts'

/**
 * Maximum number of records in one list. A search id is the number of the list times this constant, plus the number of
 * the record.
 */
export const LIST_RECORDS = 2 ** 32

/** Counting the records of a block that contain a word takes about 2 ms. */
export const BLOCK_RECORDS = 2 ** 15

/** Implements the SQL function `search_words`. */
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
