import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  bytesOfText,
  canonicalText,
  shownText,
  textOfBytes,
  textOfUnicode,
  textOfUri,
  uriOfText,
  visibleText,
} from '../../src/domain/byte-text.ts'
import { isText } from '../../src/domain/text.ts'

const MARKS = /[\uef00\uef80-\uefff]/
/** Names of any bytes, often with pieces of UTF-8, of marks and of characters that decoders lose. */
const names = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 6 }),
      fc.string({ unit: 'binary' }).map(bytes),
      fc.constantFrom('\uef00', '\uef80', '\uefff', '\uef7f', '\uefe9', '\ufffd', '\ufeff', '\0', '\ue000').map(bytes),
      fc.constantFrom([0xee, 0xbf], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf4, 0x90, 0x80, 0x80], [0xef, 0xbf]).map(raw),
    ),
    { maxLength: 8 },
  )
  .map(pieces => raw(pieces.flatMap(piece => [...piece])))

function bytes(text: string): Uint8Array {
  return raw([...Buffer.from(text)])
}

function raw(values: Iterable<number>): Uint8Array {
  return Uint8Array.from(values)
}

test('every name comes back from its text and from its URL', () => {
  fc.assert(
    fc.property(names, name => {
      const text = textOfBytes(name)
      expect(raw(bytesOfText(text))).toEqual(name)
      expect(canonicalText(text)).toBe(text)
      expect(textOfUri(uriOfText(text))).toBe(text)
      const escaped = [...name].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')
      expect(textOfUri(escaped)).toBe(text)
    }),
    { numRuns: 5_000 },
  )
})

test('every text can be stored, and is no longer than its name', () => {
  fc.assert(
    fc.property(names, name => {
      const text = textOfBytes(name)
      expect(isText(text)).toBe(true)
      expect(text.length).toBeLessThanOrEqual(name.length)
      expect(textOfBytes(bytes(text)) === text).toBe(!MARKS.test(text))
      expect(JSON.parse(JSON.stringify({ text }))).toEqual({ text })
    }),
    { numRuns: 5_000 },
  )
})

test('UTF-8 without marks and U+0000 is its own text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      const kept = text.toWellFormed().replaceAll('\0', '').replace(new RegExp(MARKS, 'g'), '')
      expect(textOfBytes(bytes(kept))).toBe(kept)
      expect(textOfUnicode(text.toWellFormed())).toBe(textOfBytes(bytes(text.toWellFormed())))
    }),
    { numRuns: 5_000 },
  )
})

test('names that a lossy decoder folds together differ', () => {
  const folded = [[0xe9], [0xe8], [0xef, 0xbf, 0xbd], [0xee, 0xbf, 0xa9], [0xef, 0xbb, 0xbf, 0x61], [0x61], [0], []]
  expect(new Set(folded.map(name => textOfBytes(raw(name)))).size).toBe(folded.length)
})

test('a mark is U+EF00 plus the byte', () => {
  expect(textOfBytes(raw([0x63, 0xe9, 0x00]))).toBe('c\uefe9\uef00')
  expect(textOfBytes(bytes('\uefe9'))).toBe('\uefee\uefbf\uefa9')
  expect(uriOfText('c\uefe9 é')).toBe('c%E9%20%C3%A9')
  expect(shownText('c\uefe9\uef00é')).toBe('c%E9%00é')
})

test('visible text has no characters that reorder or break it', () => {
  expect(visibleText('invoice\u202efdp.exe')).toBe('invoice\ufffdfdp.exe')
  expect(visibleText('a\nb\u2028c\u2066d\u200fe\uefe9')).toBe('a\ufffdb\ufffdc\ufffdd\ufffde%E9')
})

test('marks that spell UTF-8 mean that character', () => {
  expect(canonicalText('\uefc3\uefa9')).toBe('é')
  expect(textOfUri('%c3%A9%41')).toBe('éA')
})

test('malformed percent-encoding is refused', () => {
  for (const text of ['%', '%4', 'a%zz', '%%20']) expect(() => textOfUri(text)).toThrow(URIError)
})
