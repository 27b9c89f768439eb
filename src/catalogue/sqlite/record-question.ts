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
import type { ListedRecord, NameMatch, RecordFilter, RecordSearch } from '../records.ts'

/** The multihash is null unless the question searches for content. */
export type FoundRecord = ListedRecord & { multihash: Uint8Array | null }

export interface RecordQuestion {
  /** Equal for questions with the same matches, apart from the time bounds. */
  key: string
  /**
   * Returns the full-text query for a block. If {@link isWhole} is false, the query also finds records that do not
   * match.
   */
  query: (block: number) => string
  /** Returns words that every match in a block contains. A rare word makes the search cheap. */
  required: (block: number) => string[]
  /** True if the query finds only records that match, apart from the time bounds. */
  isWhole: boolean
  /** True if the question searches by name or meta. */
  isText: boolean
  /** True if the question searches by CID. */
  isOfContent: boolean
  accepts: (record: FoundRecord) => boolean
}

/**
 * Maximum number of parts of a name, and of entries of meta, that one query looks up. The found records are filtered by
 * the others.
 */
const MOST_PARTS = 8

export function questionOf(filter: RecordFilter & { search: RecordSearch }): RecordQuestion {
  const { multihash, hasExpiration, search } = filter
  const { names, meta, types, statuses } = search
  const contents = [...search.multihashes, ...(multihash === null ? [] : [multihash])].map(hexOf)
  const entries = Object.entries(meta)
  const [content] = search.multihashes
  const required = (block: number): string[] => [
    ...names.flatMap(({ text, match }) => wordsOfMatch(block, text, match)),
    ...entries.slice(0, MOST_PARTS).map(([key, value]) => metaWord(block, key, value)),
    ...(multihash === null ? [] : [contentWord(block, multihash)]),
    ...(content === undefined || search.multihashes.length > 1 ? [] : [contentWord(block, content)]),
  ]
  return {
    key: JSON.stringify([names, entries, types, statuses, contents, multihash === null, hasExpiration]),
    required,
    query: block =>
      [
        ...required(block),
        ...either(search.multihashes.map(content => contentWord(block, content))),
        ...either(types.map(type => typeWord(block, type))),
        ...either(statuses.map(status => statusWord(block, status))),
        hasExpiration ? expiringWord(block) : listWord(block),
      ].join(' AND '),
    isWhole: entries.length <= MOST_PARTS && names.every(({ text, match }) => isWholeMatch(text, match)),
    isText: names.length > 0 || entries.length > 0,
    isOfContent: contents.length > 0,
    accepts: record => isLive(record, filter) && isOfSearch(record, search) && isOfContent(record, filter),
  }
}

function wordsOfMatch(block: number, text: string, match: NameMatch): string[] {
  if (match === 'exact') return [nameWord(block, text)]
  if (match === 'iexact') return [foldedNameWord(block, text)]
  return partWords(block, text).words.slice(0, MOST_PARTS)
}

function isWholeMatch(text: string, match: NameMatch): boolean {
  if (match === 'exact' || match === 'iexact') return true
  return match === 'ipartial' && partWords(0, text).isAll
}

function either(words: readonly string[]): string[] {
  return words.length === 0 ? [] : [`(${words.join(' OR ')})`]
}

function isLive({ expiresAt }: FoundRecord, { now, hasExpiration }: RecordFilter): boolean {
  return expiresAt === null ? !hasExpiration : expiresAt > now
}

function isOfContent(record: FoundRecord, { multihash }: RecordFilter): boolean {
  return multihash === null || hexOf(record.multihash) === hexOf(multihash)
}

function isOfSearch(record: FoundRecord, search: RecordSearch): boolean {
  const { names, meta, types, statuses, multihashes, before, after } = search
  return (
    (types.length === 0 || types.includes(record.type)) &&
    (statuses.length === 0 || statuses.includes(record.status)) &&
    (multihashes.length === 0 || multihashes.map(hexOf).includes(hexOf(record.multihash))) &&
    (before === null || record.createdAt < before) &&
    (after === null || record.createdAt > after) &&
    names.every(({ text, match }) => isNamed(record.name, text, match)) &&
    hasMeta(record.meta, Object.entries(meta))
  )
}

function isNamed(name: string | null, text: string, match: NameMatch): boolean {
  if (name === null) return false
  if (match === 'exact') return name === text
  if (match === 'partial') return name.includes(text)
  return match === 'iexact' ? folded(name) === folded(text) : folded(name).includes(folded(text))
}

function hasMeta(stored: string | null, wanted: ReadonlyArray<[string, string]>): boolean {
  if (wanted.length === 0) return true
  const meta = JSON.parse(stored ?? '{}') as Record<string, string>
  // An inherited property is never a text, so it never equals a wanted value.
  return wanted.every(([key, value]) => meta[key] === value)
}

function hexOf(bytes: Uint8Array | null): string {
  if (bytes === null) return ''
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
