import { contentWord, folded, foldedNameWord, metaWord, nameWord, partWords } from '../../domain/search-words.ts'
import type { SqlValue } from '../../storage/database.ts'
import type { NameMatch, RecordFilter, RecordSearch } from '../records.ts'

/** An SQL condition, whose parameters are in the order of the text. */
export interface Condition {
  text: string
  params: SqlValue[]
}

export interface RecordQuestion {
  /** Equal for questions with the same matches, apart from the times. */
  key: string
  /** Returns words that every match in a block contains. A rare word makes the search cheap. */
  required: (block: number) => string[]
  /** True if the question searches by name or meta. */
  isText: boolean
  /** Conditions on columns of the index `records_by_search`. */
  indexed: Condition
  /** Conditions on other columns. Null for none, so that a search reads only the index. */
  stored: Condition | null
  /** Bounds of the creation time. Null for none. */
  bounds: Condition | null
  /** Returns the full-text query of the {@link stored} conditions in a block. */
  query: (block: number) => string
  /** True if each record that the query finds meets the stored conditions, unless it has changed since. */
  isWhole: boolean
}

/**
 * Maximum number of parts of a name, and of entries of meta, that one query looks up. The found records are filtered by
 * the others.
 */
const MOST_PARTS = 8
/** Only an external catalogue can dispute with the ledger. */
const OF_VISIBILITY = { public: 'owner = 0', private: 'owner <> 0', disputed: 'FALSE' }

export function questionOf(filter: RecordFilter & { search: RecordSearch }): RecordQuestion {
  const { multihash, hasExpiration, search, now } = filter
  const { names, meta, types, statuses, visibility, multihashes } = search
  const contents = [...multihashes, ...(multihash === null ? [] : [multihash])].map(hexOf)
  const entries = Object.entries(meta)
  const [content] = multihashes
  const metaWords = (block: number): string[] =>
    entries.slice(0, MOST_PARTS).map(([key, value]) => metaWord(block, key, value))
  const ofContent = (block: number): string[] => (multihash === null ? [] : [contentWord(block, multihash)])
  return {
    key: JSON.stringify([names, entries, types, statuses, visibility, contents, multihash === null, hasExpiration]),
    required: block => [
      ...names.flatMap(({ text, match }) => wordsOfMatch(block, text, match)),
      ...metaWords(block),
      ...ofContent(block),
      ...(content === undefined || multihashes.length > 1 ? [] : [contentWord(block, content)]),
    ],
    isText: names.length > 0 || entries.length > 0,
    indexed: allOf([
      { text: hasExpiration ? 'expires_at > ?' : '(expires_at IS NULL OR expires_at > ?)', params: [now] },
      ...names.map(({ text, match }) => namedCondition(text, match)),
      ...among('type', types),
      ...among('status', statuses),
      ...(visibility === null ? [] : [{ text: OF_VISIBILITY[visibility], params: [] }]),
    ]),
    stored: allOrNone([
      ...(multihash === null ? [] : [{ text: 'multihash = ?', params: [multihash] }]),
      ...among('multihash', multihashes),
      ...(entries.length === 0 ? [] : [{ text: 'has_meta(meta, ?)', params: [JSON.stringify(meta)] }]),
    ]),
    bounds: allOrNone([
      ...(search.before === null ? [] : [{ text: 'created_at < ?', params: [search.before] }]),
      ...(search.after === null ? [] : [{ text: 'created_at > ?', params: [search.after] }]),
    ]),
    query: block =>
      [...metaWords(block), ...ofContent(block), ...either(multihashes.map(one => contentWord(block, one)))].join(
        ' AND ',
      ),
    isWhole: entries.length <= MOST_PARTS,
  }
}

/** Returns a condition that is true if all given ones are. */
export function allOf(conditions: ReadonlyArray<Condition | null>): Condition {
  const given = conditions.filter(condition => condition !== null)
  return { text: given.map(({ text }) => text).join(' AND '), params: given.flatMap(({ params }) => params) }
}

function allOrNone(conditions: readonly Condition[]): Condition | null {
  return conditions.length === 0 ? null : allOf(conditions)
}

function among(column: string, values: readonly SqlValue[]): Condition[] {
  if (values.length === 0) return []
  return [{ text: `${column} IN (${values.map(() => '?').join(', ')})`, params: [...values] }]
}

function wordsOfMatch(block: number, text: string, match: NameMatch): string[] {
  if (match === 'exact') return [nameWord(block, text)]
  if (match === 'iexact') return [foldedNameWord(block, text)]
  return partWords(block, text).slice(0, MOST_PARTS)
}

/** Returns the condition on a name. The column `folded_name` is null if it would be equal to the name. */
function namedCondition(text: string, match: NameMatch): Condition {
  if (match === 'exact') return { text: 'name = ?', params: [text] }
  if (match === 'partial') return { text: 'instr(name, ?) > 0', params: [text] }
  const compared = match === 'iexact' ? 'IFNULL(folded_name, name) = ?' : 'instr(IFNULL(folded_name, name), ?) > 0'
  return { text: compared, params: [folded(text)] }
}

function either(words: readonly string[]): string[] {
  return words.length === 0 ? [] : [`(${words.join(' OR ')})`]
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
