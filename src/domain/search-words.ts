import { hash } from 'node:crypto'

/** Fields of a record that search uses. */
export interface Searched {
  name: string | null
  type: string
  status: string
  multihash: Uint8Array
  expires: boolean
  meta: Readonly<Record<string, string>>
}

/** Characters of an indexed part of a name. */
const GRAM = 3
/** Most parts of a name in one query. The rows that they match are compared again. */
const MOST_GRAMS = 24
/** Bytes of a hash that distinguish names. */
const HASH_BYTES = 12

/** Folds upper and lower case. */
export function folded(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/**
 * Returns the index words of a record, each once, of ASCII letters and digits only. All begin with the number of the
 * record's group: a list, or a block of a list. So other groups cost nothing.
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
  // Converts each character once and joins the results: this is much of the cost of the index.
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

/** Returns the word that every record of a group has. */
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

/** Returns the word that names share if they differ in case only. */
export function foldedNameWord(group: number, name: string): string {
  return word(group, `i${hashOf(folded(name))}`)
}

/** Returns the words of every name that contains `part` in any case. Up to three characters they are an exact match. */
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

/** Prefixes a word with the group's number. Words begin with a letter, so no two groups share one. */
function word(group: number, what: string): string {
  return `${group}${what}`
}

function hashOf(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex').slice(0, 2 * HASH_BYTES)
}
