import { hash } from 'node:crypto'

export interface Searched {
  name: string | null
  multihash: Uint8Array
  meta: Readonly<Record<string, string>>
}

const GRAM = 3
const MOST_GRAMS = 24
const HASH_BYTES = 12

/** Converts a text to lower case and Unicode form NFC, so that names with the same letters compare equal. */
export function folded(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/**
 * Returns ASCII words. Each starts with the number of the record's group (a list or a block of a list). A search thus
 * never reads words of other groups.
 */
export function wordsOf(group: number, { name, multihash, meta }: Searched): string[] {
  const words = new Set([contentWord(group, multihash)])
  for (const [key, value] of Object.entries(meta)) words.add(metaWord(group, key, value))
  for (const one of name === null ? [] : wordsOfName(group, name)) words.add(one)
  return [...words]
}

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

export function contentWord(group: number, multihash: Uint8Array): string {
  return word(group, `c${hashOf(multihash)}`)
}

export function metaWord(group: number, key: string, value: string): string {
  return word(group, `m${hashOf(JSON.stringify([key, value]))}`)
}

export function nameWord(group: number, name: string): string {
  return word(group, `n${hashOf(name)}`)
}

export function foldedNameWord(group: number, name: string): string {
  return word(group, `i${hashOf(folded(name))}`)
}

/** Returns words that all names containing `part` in any case have. Other names may have them, too. */
export function partWords(group: number, part: string): string[] {
  const characters = [...folded(part)]
  if (characters.length <= GRAM) return [gramWord(group, characters)]
  const words = new Set<string>()
  for (let start = 0; start + GRAM <= characters.length && words.size < MOST_GRAMS; start++) {
    words.add(gramWord(group, characters.slice(start, start + GRAM)))
  }
  return [...words]
}

function gramWord(group: number, characters: readonly string[]): string {
  return word(group, 'g') + characters.map(hexOf).join('')
}

const HEX_OF_ASCII = Array.from({ length: 128 }, (_, code) => code.toString(16).padStart(2, '0'))

function hexOf(character: string): string {
  return HEX_OF_ASCII[character.codePointAt(0) ?? 0] ?? Buffer.from(character).toString('hex')
}

/** Puts the group's number before `what`, which starts with a letter, so that words of two groups never collide. */
function word(group: number, what: string): string {
  return `${group}${what}`
}

function hashOf(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex').slice(0, 2 * HASH_BYTES)
}
