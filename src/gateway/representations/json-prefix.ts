/** Matches a number, `true`, `false` or `null`, perhaps truncated at the end of the text. */
const WORD = /[-+.\w]+/y
const WORDS = ['true', 'false', 'null']
const CUT_NUMBER = /^-?[\d.eE+-]*$/

/**
 * Checks whether the text is a JSON object or array, or could be the start of one.
 *
 * @param isWhole false if more text may follow
 */
export function beginsAsJson(text: string, isWhole: boolean): boolean {
  const reader = new PrefixReader(text, isWhole)
  if (!['{', '['].includes(reader.peek())) return false
  const closers: string[] = []
  for (let isFirst = true; ; isFirst = false) {
    const closer = closers.at(-1)
    if (!isFirst && closer === undefined) return reader.peek() === ''
    if (reader.isAtEnd()) return !isWhole
    if (closer !== undefined && reader.skip(closer)) {
      closers.pop()
      continue
    }
    if (closer !== undefined && !reader.afterOpen && !reader.skip(',')) return false
    if (closer === '}' && !(reader.isAtEnd() || (reader.string() && (reader.isAtEnd() || reader.skip(':')))))
      return false
    if (reader.isAtEnd()) return !isWhole
    if (reader.skip('{')) closers.push('}')
    else if (reader.skip('[')) closers.push(']')
    else if (!reader.scalar()) return false
  }
}

class PrefixReader {
  readonly #text: string
  readonly #isWhole: boolean
  #at = 0
  /** True directly after an opening bracket, where no comma may follow. */
  afterOpen = false

  constructor(text: string, isWhole: boolean) {
    this.#text = text
    this.#isWhole = isWhole
  }

  /** Skips white space. Returns an empty string at the end of the text. */
  peek(): string {
    while (' \t\n\r'.includes(this.#text[this.#at] ?? '-')) this.#at++
    return this.#text[this.#at] ?? ''
  }

  isAtEnd(): boolean {
    return this.peek() === ''
  }

  skip(char: string): boolean {
    if (this.peek() !== char) return false
    this.#at++
    this.afterOpen = char === '{' || char === '['
    return true
  }

  scalar(): boolean {
    return this.peek() === '"' ? this.string() : this.#word()
  }

  string(): boolean {
    if (this.peek() !== '"') return false
    this.afterOpen = false
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const char = this.#text[at] ?? ''
      if (char === '\\') at++
      else if (char < ' ') return false
      else if (char === '"') {
        this.#at = at + 1
        return true
      }
    }
    this.#at = this.#text.length
    return !this.#isWhole
  }

  #word(): boolean {
    this.afterOpen = false
    WORD.lastIndex = this.#at
    const [word = ''] = WORD.exec(this.#text) ?? []
    this.#at += word.length
    const isCut = !this.#isWhole && this.#at === this.#text.length
    if (isCut) return CUT_NUMBER.test(word) || WORDS.some(known => known.startsWith(word))
    try {
      return word !== '' && typeof JSON.parse(word) !== 'object' ? true : word === 'null'
    } catch {
      return false
    }
  }
}
