import { hash } from 'node:crypto'

/** The fields of a record that can be searched. */
export interface Searched {
  name: string | null
  type: string
  status: string
  multihash: Uint8Array
  expires: boolean
  meta: Readonly<Record<string, string>>
}

/** Number of characters of an indexed part of a name. */
const GRAM = 3
/** Maximum number of name parts in one query. For a longer text, the names of the found rows are compared as well. */
const MOST_GRAMS = 24
/** Number of bytes of a hash that an index word contains. */
const HASH_BYTES = 12

/** Converts a text to lower case and Unicode form NFC, so that names with the same letters compare equal. */
export function folded(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/**
 * Returns the distinct index words of a record, which contain only ASCII letters and digits. Each word starts with the
 * number of the record's group, which is a list or a block of a list. A search thus never reads words of other groups.
 */
export function wordsOf(group: number, { name, type, status, multihash, expires, meta }: Searched): string[] {
  const words = new Set([
    word(group, 'l'),
    typeWord(group, type),
    statusWord(group, status),
    contentWord(group, multihash),
  ])
  if (expires) words.add(expiringWord(group))
  for (const [key, value] of Object.entries(meta)) words.add(metaWord(group, key, value))
  for (const one of name === null ? [] : wordsOfName(group, name)) words.add(one)
  return [...words]
}

/** Returns the index words of a record's name. */
export function wordsOfName(group: number, name: string): Set<string> {
  const words = new Set([nameWord(group, name), foldedNameWord(group, name)])
  // Convert each character only once, because this conversion is a large part of the cost of indexing.
  const characters = Array.from(folded(name), hexOf)
  for (let start = 0; start < characters.length; start++) {
    let gram = word(group, 'g')
    for (const character of characters.slice(start, start + GRAM)) {
      gram += character
      words.add(gram)
    }
  }
  return words
}

/** Returns the index word that every record of a group has. */
export function listWord(group: number): string {
  return word(group, 'l')
}

export function typeWord(group: number, type: string): string {
  return word(group, `t${type}`)
}

export function statusWord(group: number, status: string): string {
  return word(group, `s${status}`)
}

export function contentWord(group: number, multihash: Uint8Array): string {
  return word(group, `c${hashOf(multihash)}`)
}

export function expiringWord(group: number): string {
  return word(group, 'x')
}

export function metaWord(group: number, key: string, value: string): string {
  return word(group, `m${hashOf(JSON.stringify([key, value]))}`)
}

export function nameWord(group: number, name: string): string {
  return word(group, `n${hashOf(name)}`)
}

/** Returns the index word of a name regardless of upper and lower case. */
export function foldedNameWord(group: number, name: string): string {
  return word(group, `i${hashOf(folded(name))}`)
}

/**
 * Returns the index words of all names that contain `part`, regardless of case. If `isAll` is true, all records with
 * these words match. This is the case for a part of up to three characters.
 */
export function partWords(group: number, part: string): { words: string[]; isAll: boolean } {
  const characters = [...folded(part)]
  if (characters.length <= GRAM) return { words: [gramWord(group, characters)], isAll: true }
  const words = new Set<string>()
  for (let start = 0; start + GRAM <= characters.length && words.size < MOST_GRAMS; start++) {
    words.add(gramWord(group, characters.slice(start, start + GRAM)))
  }
  return { words: [...words], isAll: false }
}

function gramWord(group: number, characters: readonly string[]): string {
  return word(group, 'g') + characters.map(hexOf).join('')
}

const HEX_OF_ASCII = Array.from({ length: 128 }, (_, code) => code.toString(16).padStart(2, '0'))

/** Returns the UTF-8 bytes of a character as hexadecimal digits. */
function hexOf(character: string): string {
  return HEX_OF_ASCII[character.codePointAt(0) ?? 0] ?? Buffer.from(character).toString('hex')
}

/**
 * Returns a word with the number of its group in front. `what` starts with a letter, so words of two groups never
 * collide.
 */
function word(group: number, what: string): string {
  return `${group}${what}`
}

function hashOf(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex').slice(0, 2 * HASH_BYTES)
}
