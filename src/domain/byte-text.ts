/**
 * The text form of names, which are bytes. UTF-8 is its own text. Every other byte, and the byte 0, becomes the
 * character U+EF00 plus the byte: a mark. A name that contains such a character has its bytes marked, so no two names
 * share a text. A text has at most as many UTF-16 units as its name has bytes.
 */

const MARK = /[\uef00\uef80-\uefff]/
const MARKS = new RegExp(MARK, 'g')
/** Characters that show that decoded bytes are not their own text. U+FFFD may also be part of the name. */
const DOUBTFUL = /[\0\ufffd\uef00\uef80-\uefff]/
/** Keeps a byte-order mark, which is part of a name. */
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })
const ENCODER = new TextEncoder()

/** Returns the text form of a name. */
export function textOfBytes(name: Uint8Array): string {
  const text = DECODER.decode(name)
  return DOUBTFUL.test(text) ? DECODER.decode(marked(name)) : text
}

/** Returns the text form of a name that is UTF-8, such as a key of JSON. */
export function textOfUnicode(name: string): string {
  return DOUBTFUL.test(name) ? textOfBytes(ENCODER.encode(name)) : name
}

/** Returns the bytes of a name. Marks that together spell UTF-8 are valid, too, although no name has that text. */
export function bytesOfText(text: string): Uint8Array {
  const bytes = ENCODER.encode(text)
  return hasMarks(text) ? unmarked(bytes) : bytes
}

/** Returns the text form of the name that a text means. It differs only if marks of the text spell UTF-8. */
export function canonicalText(text: string): string {
  return hasMarks(text) ? textOfBytes(bytesOfText(text)) : text
}

/**
 * Returns the text form of a name with percent-encoded bytes.
 *
 * @throws URIError for malformed percent-encoding
 */
export function textOfUri(encoded: string): string {
  if (!encoded.includes('%')) return canonicalText(encoded)
  if (/%(?![0-9a-f]{2})/i.test(encoded)) throw new URIError('a percent sign has no two hexadecimal digits')
  return canonicalText(encoded.replace(/%(..)/g, (_, hex: string) => markOf(Number.parseInt(hex, 16))))
}

/** Returns whether a file can have a name: not empty, `.` or `..`, and without `/` and the byte 0. */
export function isFileName(text: string): boolean {
  return !/^\.{0,2}$|[/\0\uef00]/.test(text)
}

/** Percent-encodes a name for a URL. */
export function uriOfText(text: string): string {
  const wellFormed = text.toWellFormed()
  if (!hasMarks(wellFormed)) return encodeURIComponent(wellFormed)
  return shownText(wellFormed.replace(/[^\uef00\uef80-\uefff]+/g, encodeURIComponent))
}

/** Returns whether a name has bytes that are not their own text. */
export function hasMarks(text: string): boolean {
  return MARK.test(text)
}

/** Returns a name for people to read: the mark of the byte 0xE9 becomes `%E9`. */
export function shownText(text: string): string {
  return text.replace(MARKS, mark => `%${hexOf(mark)}`)
}

/** Returns a name for people to read on one line: also replaces characters that control, reorder or break the text. */
export function visibleText(text: string): string {
  return shownText(text).replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, '\uFFFD')
}

function markOf(byte: number): string {
  return String.fromCharCode(byte > 0 && byte < 0x80 ? byte : 0xef00 + byte)
}

function hexOf(mark: string): string {
  return (mark.charCodeAt(0) & 0xff).toString(16).toUpperCase().padStart(2, '0')
}

/** Returns the text form of a name in UTF-8. */
function marked(name: Uint8Array): Uint8Array {
  const text = new Uint8Array(3 * name.length)
  let size = 0
  for (let at = 0; at < name.length; ) {
    const kept = sequenceAt(name, at)
    for (const end = at + kept; at < end; ) text[size++] = name[at++] ?? 0
    if (kept > 0) continue
    const byte = name[at++] ?? 0
    text[size++] = 0xee
    text[size++] = 0xbc | (byte >> 6)
    text[size++] = 0x80 | (byte & 0x3f)
  }
  return text.subarray(0, size)
}

/** Returns the bytes of a name. Overwrites the text, which is UTF-8. */
function unmarked(text: Uint8Array): Uint8Array {
  let size = 0
  for (let at = 0; at < text.length; ) {
    const byte = markAt(text, at)
    text[size++] = byte ?? text[at] ?? 0
    at += byte === null ? 1 : 3
  }
  return text.subarray(0, size)
}

/** Returns the byte whose mark begins at an offset of UTF-8, or null. */
function markAt(text: Uint8Array, at: number): number | null {
  const [first = 0, second = 0, third = 0] = [text[at], text[at + 1], text[at + 2]]
  if (first !== 0xee || second < 0xbc) return null
  const byte = ((second & 0x03) << 6) | (third & 0x3f)
  return byte === 0 || byte >= 0x80 ? byte : null
}

/** Returns the length of the UTF-8 character at an offset, or 0 if its first byte needs a mark. */
function sequenceAt(name: Uint8Array, at: number): number {
  const first = name[at] ?? 0
  if (first < 0x80) return first === 0 ? 0 : 1
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
  if (at + length > name.length) return 0
  for (let next = at + 1; next < at + length; next++) if (((name[next] ?? 0) & 0xc0) !== 0x80) return 0
  const second = name[at + 1] ?? 0
  // Longer forms than needed, surrogates, and code points beyond U+10FFFF.
  if (first === 0xe0 && second < 0xa0) return 0
  if (first === 0xed && second > 0x9f) return 0
  if (first === 0xf0 && second < 0x90) return 0
  if (first === 0xf4 && second > 0x8f) return 0
  return markAt(name, at) === null ? length : 0
}
