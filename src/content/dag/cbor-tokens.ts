import { type Token, Tokenizer, Type } from 'cborg'
import { DEEPEST_DOCUMENT, type DocumentToken } from './document-token.ts'

const LINK_TAG = 42
const OPTIONS = { allowIndefinite: false, allowUndefined: false, allowBigInt: true }
const PLAIN = new Set([Type.uint, Type.negint, Type.bytes, Type.float, Type.true, Type.false, Type.null])

/**
 * Yields the tokens of a DAG-CBOR document without building the document in memory.
 *
 * @throws Error at the first byte that is not DAG-CBOR, after all tokens before that byte
 */
export function* cborTokens(bytes: Uint8Array): Generator<DocumentToken, void, undefined> {
  const source = new Tokenizer(bytes, OPTIONS)
  // Both have one entry per open container. `left` counts the remaining items, keys included; `maps` is true for a map.
  const left: number[] = []
  const maps: boolean[] = []
  do {
    const isKey = maps.at(-1) === true && (left.at(-1) ?? 0) % 2 === 0
    if (left.length > 0) left[left.length - 1] = (left.at(-1) ?? 0) - 1
    const read = source.next()
    const token = isKey ? keyToken(read, source, bytes) : valueToken(read, source, bytes)
    yield token
    if (token.kind === 'open') {
      left.push(token.isMap ? read.value * 2 : read.value)
      maps.push(token.isMap)
      if (left.length > DEEPEST_DOCUMENT) throw new Error('a document is too deep')
    }
    while (left.at(-1) === 0) {
      left.pop()
      yield { kind: 'close', isMap: maps.pop() === true }
    }
  } while (left.length > 0)
  if (!source.done()) throw new Error('bytes follow a CBOR document')
}

function keyToken(token: Token, source: Tokenizer, bytes: Uint8Array): DocumentToken {
  if (token.type !== Type.string) throw new Error('a CBOR key is no text')
  return { kind: 'key', name: checkedText(token, source.pos(), bytes) }
}

function valueToken(token: Token, source: Tokenizer, bytes: Uint8Array): DocumentToken {
  const { type, value } = token
  if (type === Type.array || type === Type.map) return { kind: 'open', isMap: type === Type.map }
  if (type === Type.string) return { kind: 'value', value: checkedText(token, source.pos(), bytes) }
  if (type === Type.tag) return linkToken(value, source.next())
  if (PLAIN.has(type)) return { kind: 'value', value }
  throw new Error('a CBOR value that documents do not have')
}

function linkToken(tag: unknown, { type, value }: Token): DocumentToken {
  if (tag !== LINK_TAG) throw new Error('a CBOR tag other than that of links')
  if (type !== Type.bytes) throw new Error('a CBOR link is no bytes')
  if (value[0] !== 0) throw new Error('a CBOR link without its first zero')
  return { kind: 'link', link: value.subarray(1) }
}

/**
 * Throws if the bytes of a text are not valid UTF-8. The tokenizer replaces invalid bytes by U+FFFD, so only a text
 * with U+FFFD can be invalid.
 */
function checkedText({ value, encodedLength = 0 }: Token, end: number, bytes: Uint8Array): string {
  if (!value.includes('\ufffd')) return value
  const start = end - encodedLength
  const lengthBytes = [1, 2, 4, 8][((bytes[start] ?? 0) & 31) - 24] ?? 0
  if (Buffer.compare(Buffer.from(value), bytes.subarray(start + 1 + lengthBytes, end)) === 0) return value
  throw new Error('a CBOR text that is not UTF-8')
}
