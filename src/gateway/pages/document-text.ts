import { type Document, tokensOf } from '../../content/dag/document.ts'
import { cidOfLink, type DocumentToken, type DocumentValue, type LinkToken } from '../../content/dag/document-token.ts'
import type { WalkBudget } from '../../content/dag/ordered-walk.ts'

const LONGEST_TEXT = 256 * 1024
/** Deeper levels get no further indentation. */
const DEEPEST_INDENT = 32

/**
 * Formats a document as indented DAG-JSON of at most {@link LONGEST_TEXT} characters.
 *
 * @throws HoldfastError `INVALID_CID` if the formatted part does not match its codec
 */
export async function documentText(
  document: Document,
  budget: WalkBudget,
): Promise<{ text: string; isWhole: boolean }> {
  const writer = new TextWriter()
  for await (const token of tokensOf(document, budget)) {
    writer.write(token)
    if (writer.isFull) return { text: writer.text, isWhole: false }
  }
  return { text: writer.text, isWhole: true }
}

class TextWriter {
  readonly #parts: string[] = []
  #left = LONGEST_TEXT
  #depth = 0
  #isEmpty = false
  #isAfterKey = false

  get isFull(): boolean {
    return this.#left <= 0
  }

  get text(): string {
    return this.#parts.join('')
  }

  write(token: DocumentToken): void {
    if (token.kind === 'close') {
      this.#depth--
      if (!this.#isEmpty) this.#newLine()
      this.#put(token.isMap ? '}' : ']')
      this.#isEmpty = false
      return
    }
    this.#begin()
    switch (token.kind) {
      case 'open':
        this.#put(token.isMap ? '{' : '[')
        this.#depth++
        this.#isEmpty = true
        break
      case 'key':
        this.#put(`${JSON.stringify(token.name)}: `)
        this.#isAfterKey = true
        break
      case 'link':
        this.#put(`{ "/": ${linkText(token)} }`)
        break
      case 'value':
        this.#put(textOf(token.value, this.#left))
    }
  }

  #begin(): void {
    if (!this.#isAfterKey && this.#depth > 0) {
      if (!this.#isEmpty) this.#put(',')
      this.#newLine()
    }
    this.#isEmpty = false
    this.#isAfterKey = false
  }

  #newLine(): void {
    this.#put(`\n${'  '.repeat(Math.min(this.#depth, DEEPEST_INDENT))}`)
  }

  #put(text: string): void {
    this.#parts.push(text.slice(0, Math.max(this.#left, 0)))
    this.#left -= text.length
  }
}

/** Formats a link as JSON text. An invalid CID becomes `null`. */
function linkText(link: LinkToken): string {
  try {
    return `"${cidOfLink(link)}"`
  } catch {
    return 'null'
  }
}

/** @param most maximum number of characters or bytes to format */
function textOf(value: DocumentValue, most: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, most))
  if (!(value instanceof Uint8Array)) return String(value)
  const base64 = Buffer.from(value.subarray(0, most)).toString('base64').replaceAll('=', '')
  return `{ "/": { "bytes": "${base64}" } }`
}
