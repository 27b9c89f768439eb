import { DEEPEST_DOCUMENT, type DocumentToken } from './document-token.ts'

const LINK = /\{\s*"\/"\s*:\s*"([^"\\]*)"\s*\}/y
const BYTES = /\{\s*"\/"\s*:\s*\{\s*"bytes"\s*:\s*"([^"\\]*)"\s*\}\s*\}/y
const SPACE = new Set([' ', '\t', '\n', '\r'])
const WORD_END = new Set([...SPACE, ',', ']', '}'])

/**
 * Yields the tokens of a DAG-JSON document without building the document in memory.
 *
 * @throws Error at the first byte that is not DAG-JSON, after all tokens before that byte
 */
export function* jsonTokens(bytes: Uint8Array): Generator<DocumentToken, void, undefined> {
  const reader = new JsonReader(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  // One entry for each open container: true for a map, false for a list.
  const maps: boolean[] = []
  let isFirst = true
  do {
    const isMap = maps.at(-1)
    if (isMap !== undefined && reader.skip(isMap ? '}' : ']')) {
      maps.pop()
      isFirst = false
      yield { kind: 'close', isMap }
      continue
    }
    if (isMap !== undefined && !isFirst) reader.expect(',')
    if (isMap === true) {
      yield { kind: 'key', name: reader.string() }
      reader.expect(':')
    }
    const token = reader.value()
    yield token
    isFirst = token.kind === 'open'
    if (token.kind === 'open') maps.push(token.isMap)
    if (maps.length > DEEPEST_DOCUMENT) throw new Error('a document is too deep')
  } while (maps.length > 0)
  reader.expectEnd()
}

class JsonReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  skip(char: string): boolean {
    const isNext = this.#peek() === char
    if (isNext) this.#at++
    return isNext
  }

  expect(char: string): void {
    if (!this.skip(char)) throw new Error(`JSON without ${char}`)
  }

  expectEnd(): void {
    if (this.#peek() !== '') throw new Error('text follows a JSON document')
  }

  string(): string {
    if (this.#peek() !== '"') throw new Error('a JSON key is no string')
    const start = this.#at
    for (let at = start + 1; at < this.#text.length; at++) {
      const char = this.#text[at]
      if (char === '\\') at++
      else if (char === '"') {
        this.#at = at + 1
        return JSON.parse(this.#text.slice(start, this.#at))
      }
    }
    throw new Error('a JSON string without end')
  }

  value(): DocumentToken {
    switch (this.#peek()) {
      case '"':
        return { kind: 'value', value: this.string() }
      case '[':
        this.#at++
        return { kind: 'open', isMap: false }
      case '{':
        return this.#map()
      default:
        return { kind: 'value', value: this.#word() }
    }
  }

  #map(): DocumentToken {
    const link = this.#match(LINK)
    if (link !== null) return { kind: 'link', link }
    const bytes = this.#match(BYTES)
    if (bytes !== null) return { kind: 'value', value: Buffer.from(bytes, 'base64') }
    this.#at++
    return { kind: 'open', isMap: true }
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)
    if (match !== null) this.#at = pattern.lastIndex
    return match?.[1] ?? null
  }

  #word(): number | bigint | boolean | null {
    const start = this.#at
    while (this.#at < this.#text.length && !WORD_END.has(this.#text[this.#at] ?? '')) this.#at++
    const word = this.#text.slice(start, this.#at)
    const value: number | boolean | null = JSON.parse(word)
    return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(word)
      ? BigInt(word)
      : value
  }

  /** Skips white space. Returns an empty text at the end of the document. */
  #peek(): string {
    while (SPACE.has(this.#text[this.#at] ?? '')) this.#at++
    return this.#text[this.#at] ?? ''
  }
}
