import {
  contentWord,
  expiringWord,
  folded,
  foldedNameWord,
  listWord,
  metaWord,
  nameWord,
  partWords,
  statusWord,
  typeWord,
} from '../../domain/search-words.ts'
import type { RecordFilter, RecordSearch } from '../records.ts'

/** What of a record is looked at, where its words do not say all. */
export interface LookedAt {
  name: string | null
  createdAt: number
}

/** What the index is asked. */
export interface RecordQuestion {
  /** In the language of the index. */
  words: string
  /** Whether every record with these words is wanted; else {@link RecordQuestion.accepts} tells. */
  isWhole: boolean
  accepts: (record: LookedAt) => boolean
}

/** @param list the number of the account's list */
export function questionOf(list: number, filter: RecordFilter & { search: RecordSearch }): RecordQuestion {
  const { search, multihash, hasExpiration } = filter
  const parts: string[][] = []
  const checks: Array<(name: string) => boolean> = []
  for (const { text, match } of search.names) {
    if (match === 'exact') parts.push([nameWord(list, text)])
    else if (match === 'iexact') parts.push([foldedNameWord(list, text)])
    else {
      const { words, isAll } = partWords(list, text)
      parts.push(...words.map(word => [word]))
      if (match === 'partial') checks.push(name => name.includes(text))
      else if (!isAll) checks.push(includesFolded(text))
    }
  }
  for (const [key, value] of Object.entries(search.meta)) parts.push([metaWord(list, key, value)])
  if (search.types.length > 0) parts.push(search.types.map(type => typeWord(list, type)))
  if (search.statuses.length > 0) parts.push(search.statuses.map(status => statusWord(list, status)))
  if (search.multihashes.length > 0) parts.push(search.multihashes.map(content => contentWord(list, content)))
  if (multihash !== null) parts.push([contentWord(list, multihash)])
  if (hasExpiration) parts.push([expiringWord(list)])
  if (parts.length === 0) parts.push([listWord(list)])
  return {
    words: parts.map(words => (words.length === 1 ? words[0] : `(${words.join(' OR ')})`)).join(' AND '),
    isWhole: checks.length === 0,
    accepts: ({ name, createdAt }) =>
      (search.before === null || createdAt < search.before) &&
      (search.after === null || createdAt > search.after) &&
      checks.every(check => check(name ?? '')),
  }
}

function includesFolded(text: string): (name: string) => boolean {
  const part = folded(text)
  return name => folded(name).includes(part)
}
