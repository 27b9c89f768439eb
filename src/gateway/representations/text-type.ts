import { isUtf8 } from 'node:buffer'
import { beginsAsJson } from './json-prefix.ts'

/** Bytes that text does not contain. ESC switches the alphabet in some encodings. */
const BINARY_BYTES = new Set([...Array(32).keys()].filter(code => ![9, 10, 12, 13, 27].includes(code)))
const BYTE_ORDER_MARKS: ReadonlyArray<[mark: readonly number[], encoding: string]> = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
]

/** Returns the encoding that a byte-order mark names, or null without a mark. */
export function markedEncoding(start: Uint8Array): string | null {
  return BYTE_ORDER_MARKS.find(([mark]) => mark.every((byte, index) => start[index] === byte))?.[1] ?? null
}

/**
 * Returns the content as text without its byte-order mark, or null if it is not text. Characters of an unknown encoding
 * count as Latin-1, in which markup reads the same.
 *
 * @param isWhole true if the content has no further bytes
 */
export function readText(start: Uint8Array, isWhole: boolean): string | null {
  const marked = markedEncoding(start)
  if (marked === 'utf-16le' || marked === 'utf-16be') {
    const text = new TextDecoder(marked).decode(start, { stream: !isWhole })
    return text.includes('\0') ? null : text
  }
  for (const byte of start) if (byte < 32 && BINARY_BYTES.has(byte)) return null
  return decodeUtf8(start, { stream: !isWhole && !isUtf8(start) }) ?? Buffer.from(start).toString('latin1')
}

/** Checks whether bytes are UTF-8, whose last character may be truncated. Needs no decoder for most text. */
export function beginsAsUtf8(start: Uint8Array, isWhole: boolean): boolean {
  return isUtf8(start) || (!isWhole && decodeUtf8(start, { stream: true }) !== null)
}

/** Returns null for other bytes. */
function decodeUtf8(start: Uint8Array, options: { stream: boolean }): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(start, options)
  } catch {
    return null
  }
}

/** Returns the media type of text, without a charset. Scripts and style sheets count as plain text. */
export function typeOfText(text: string, isWhole: boolean): string {
  const markup = typeOfMarkup(text)
  if (markup !== null) return markup
  if (/^#EXTM3U(?:\s|$)/.test(text)) return 'application/vnd.apple.mpegurl'
  return beginsAsJson(text, isWhole) ? 'application/json' : 'text/plain'
}

/** Declarations, comments and instructions before the root element, and how each ends. */
const PROLOGUE: ReadonlyArray<[begins: RegExp, ends: RegExp]> = [
  [/^<!--/, /-->/],
  [/^<!doctype\s/i, /^[^[>]*(?:\[[^\]]*\]\s*)?>/],
]
const XML_DECLARATION = /^<\?xml\s/i
const HTML_DOCTYPE = /^<!doctype\s+html[\s>]/i
/** First elements of HTML by which the MIME Sniffing Standard tells it, and others of a page's head. */
const HTML_ELEMENT =
  /^<(?:html|head|body|title|meta|link|base|style|script|frameset|iframe|center|font|table|div|h1|a|b|p|br)[\s/>]/i
const ROOT_ELEMENT = /^<(?:[\w.-]+:)?([\w.-]+)(?=[\s/>])([^>]*)/

/** Returns the type of HTML, SVG or XML, by what is before its root element and by the root. Null for other text. */
function typeOfMarkup(text: string): string | null {
  const isXml = XML_DECLARATION.test(text.trimStart())
  let rest = text.trimStart()
  for (;;) {
    if (!isXml && HTML_DOCTYPE.test(rest)) return 'text/html'
    const ends = isXml && rest.startsWith('<?') ? /\?>/ : PROLOGUE.find(([begins]) => begins.test(rest))?.[1]
    if (ends === undefined) break
    const end = ends.exec(rest)
    if (end === null) break
    rest = rest.slice(end.index + end[0].length).trimStart()
  }
  const [, root = '', attributes = ''] = ROOT_ELEMENT.exec(rest) ?? []
  if (root === 'svg') return 'image/svg+xml'
  if (!isXml) return HTML_ELEMENT.test(rest) ? 'text/html' : null
  const isPage = root === 'html' && attributes.includes('http://www.w3.org/1999/xhtml')
  return isPage ? 'application/xhtml+xml' : 'application/xml'
}
