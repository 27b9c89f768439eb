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
 * record's list, so other lists cost nothing.
 */
export function wordsOf(list: number, { name, type, status, multihash, expires, meta }: Searched): string[] {
  const words = new Set([word(list, 'l'), typeWord(list, type), statusWord(list, status), contentWord(list, multihash)])
  if (expires) words.add(expiringWord(list))
  for (const [key, value] of Object.entries(meta)) words.add(metaWord(list, key, value))
  for (const one of name === null ? [] : wordsOfName(list, name)) words.add(one)
  return [...words]
}

/** Returns the index words of a record's name. */
export function wordsOfName(list: number, name: string): Set<string> {
  const words = new Set([nameWord(list, name), foldedNameWord(list, name)])
  // Converts each character once and joins the results: this is much of the cost of the index.
  const characters = Array.from(folded(name), hexOf)
  for (let start = 0; start < characters.length; start++) {
    let gram = word(list, 'g')
    for (const character of characters.slice(start, start + GRAM)) {
      gram += character
      words.add(gram)
    }
  }
  return words
}

/** Returns the word that every record of a list has. */
export function listWord(list: number): string {
  return word(list, 'l')
}

export function typeWord(list: number, type: string): string {
  return word(list, `t${type}`)
}

export function statusWord(list: number, status: string): string {
  return word(list, `s${status}`)
}

export function contentWord(list: number, multihash: Uint8Array): string {
  return word(list, `c${hashOf(multihash)}`)
}

export function expiringWord(list: number): string {
  return word(list, 'x')
}

export function metaWord(list: number, key: string, value: string): string {
  return word(list, `m${hashOf(JSON.stringify([key, value]))}`)
}

export function nameWord(list: number, name: string): string {
  return word(list, `n${hashOf(name)}`)
}

/** Returns the word that names share if they differ in case only. */
export function foldedNameWord(list: number, name: string): string {
  return word(list, `i${hashOf(folded(name))}`)
}

/** Returns the words of every name that contains `part` in any case. Up to three characters they are an exact match. */
export function partWords(list: number, part: string): { words: string[]; isAll: boolean } {
  const characters = [...folded(part)]
  if (characters.length <= GRAM) return { words: [gramWord(list, characters)], isAll: true }
  const words = new Set<string>()
  for (let start = 0; start + GRAM <= characters.length && words.size < MOST_GRAMS; start++) {
    words.add(gramWord(list, characters.slice(start, start + GRAM)))
  }
  return { words: [...words], isAll: false }
}

function gramWord(list: number, characters: readonly string[]): string {
  return word(list, 'g') + characters.map(hexOf).join('')
}

const HEX_OF_ASCII = Array.from({ length: 128 }, (_, code) => code.toString(16).padStart(2, '0'))

/** Returns the UTF-8 bytes of a character as hexadecimal digits. */
function hexOf(character: string): string {
  return HEX_OF_ASCII[character.codePointAt(0) ?? 0] ?? Buffer.from(character).toString('hex')
}

/** Prefixes a word with the list's number. Words begin with a letter, so no two lists share one. */
function word(list: number, what: string): string {
  return `${list}${what}`
}

function hashOf(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex').slice(0, 2 * HASH_BYTES)
}
