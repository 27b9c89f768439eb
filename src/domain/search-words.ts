import { hash } from 'node:crypto'

/** What records are found by. */
export interface Searched {
  name: string | null
  type: string
  status: string
  multihash: Uint8Array
  expires: boolean
  meta: Readonly<Record<string, string>>
}

/** Longest run of characters that is a word of its own. */
const GRAM = 3
/** Words of a name that one question asks for; what they let through is looked at again. */
const MOST_GRAMS = 24
/** Bytes of a hash that tell names apart. */
const HASH_BYTES = 12

/** As names are compared where upper and lower case are the same. */
export function folded(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/**
 * The words that an index of records knows one by, each once, ASCII letters and digits only. All begin with the number of
 * their list, so that what others have costs nothing.
 */
export function wordsOf(list: number, { name, type, status, multihash, expires, meta }: Searched): string[] {
  const words = new Set([word(list, 'l'), typeWord(list, type), statusWord(list, status), contentWord(list, multihash)])
  if (expires) words.add(expiringWord(list))
  for (const [key, value] of Object.entries(meta)) words.add(metaWord(list, key, value))
  for (const one of name === null ? [] : wordsOfName(list, name)) words.add(one)
  return [...words]
}

/** Those of them by which its name is found. */
export function wordsOfName(list: number, name: string): Set<string> {
  const words = new Set([nameWord(list, name), foldedNameWord(list, name)])
  // Each character once, and longer words by putting them together: this is much of what an index of names costs.
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

/** The word that every record of a list has. */
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

/** For names that differ in upper and lower case only. */
export function foldedNameWord(list: number, name: string): string {
  return word(list, `i${hashOf(folded(name))}`)
}

/** Words that every name has in which `part` occurs, in upper or lower case; all of what there is to say up to three characters. */
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

/** The bytes of a character's UTF-8, as hexadecimal digits. */
function hexOf(character: string): string {
  return HEX_OF_ASCII[character.codePointAt(0) ?? 0] ?? Buffer.from(character).toString('hex')
}

/** Digits, then a letter: no two lists share a word. */
function word(list: number, what: string): string {
  return `${list}${what}`
}

function hashOf(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex').slice(0, 2 * HASH_BYTES)
}
