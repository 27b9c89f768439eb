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

/** The columns that {@link RecordQuestion.accepts} checks. */
export interface CheckedRecord {
  name: string | null
  createdAt: number
  expiresAt: number | null
}

/** A search, translated for the full-text index. */
export interface RecordQuestion {
  /** The query in FTS5 syntax. */
  words: string
  /** Words that every match has. One of them may be rare. */
  required: readonly string[]
  /** Returns the FTS5 query for a word and all conditions that {@link RecordQuestion.accepts} does not check. */
  with: (word: string) => string
  /** True if every record that the index finds matches; otherwise {@link RecordQuestion.accepts} decides. */
  isWhole: boolean
  accepts: (record: CheckedRecord) => boolean
}

/** @param list the number of the account's list */
export function questionOf(list: number, filter: RecordFilter & { search: RecordSearch }): RecordQuestion {
  const { search, multihash, hasExpiration } = filter
  const parts: string[][] = []
  const required: string[] = []
  /** Words that {@link RecordQuestion.accepts} covers too, so a query may leave them out. */
  const checked: string[] = []
  const checks: Array<(name: string) => boolean> = []
  for (const { text, match } of search.names) {
    if (match === 'exact') required.push(nameWord(list, text))
    else if (match === 'iexact') required.push(foldedNameWord(list, text))
    else {
      const { words, isAll } = partWords(list, text)
      if (match === 'ipartial' && isAll) required.push(...words)
      else checked.push(...words)
      if (match === 'partial') checks.push(name => name.includes(text))
      else if (!isAll) checks.push(includesFolded(text))
    }
  }
  for (const [key, value] of Object.entries(search.meta)) required.push(metaWord(list, key, value))
  if (search.types.length > 0) parts.push(search.types.map(type => typeWord(list, type)))
  if (search.statuses.length > 0) parts.push(search.statuses.map(status => statusWord(list, status)))
  if (search.multihashes.length > 1) parts.push(search.multihashes.map(content => contentWord(list, content)))
  else required.push(...search.multihashes.map(content => contentWord(list, content)))
  if (multihash !== null) required.push(contentWord(list, multihash))
  if (hasExpiration) parts.push([expiringWord(list)])
  const all = [...required, ...checked]
  if (all.length === 0 && parts.length === 0) parts.push([listWord(list)])
  return {
    words: inWords(all, parts),
    required: all,
    with: word => inWords([...new Set([word, ...required])], parts),
    isWhole: checks.length === 0,
    accepts: ({ name, createdAt, expiresAt }) =>
      (expiresAt === null || expiresAt > filter.now) &&
      (search.before === null || createdAt < search.before) &&
      (search.after === null || createdAt > search.after) &&
      checks.every(check => check(name ?? '')),
  }
}

function inWords(words: readonly string[], parts: readonly string[][]): string {
  const either = parts.map(part => (part.length === 1 ? part[0] : `(${part.join(' OR ')})`))
  return [...words, ...either].join(' AND ')
}

function includesFolded(text: string): (name: string) => boolean {
  const part = folded(text)
  return name => folded(name).includes(part)
}
