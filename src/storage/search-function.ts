import { wordsOf } from '../domain/search-words.ts'

/** Numbers that records of one list may have: a record's is its list's number times this, and its own. */
export const LIST_RECORDS = 2 ** 32

/** The SQL function `search_words`: what the index of records is given for one, from its columns. */
export function searchWords(...columns: unknown[]): string {
  const [searchId, name, type, status, multihash, expiresAt, meta] = columns
  const words = wordsOf(Math.floor(Number(searchId) / LIST_RECORDS), {
    name: typeof name === 'string' ? name : null,
    type: String(type),
    status: String(status),
    multihash: multihash instanceof Uint8Array ? multihash : new Uint8Array(),
    expires: expiresAt !== null,
    meta: typeof meta === 'string' ? (JSON.parse(meta) as Record<string, string>) : {},
  })
  return words.join(' ')
}
