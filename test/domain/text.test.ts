import { expect, test } from 'vitest'
import { HoldfastError } from '../../src/domain/errors.ts'
import { isText, keptText, unkeptIn } from '../../src/domain/text.ts'

test('a text with U+0000 or half of a surrogate pair is refused', () => {
  for (const text of ['', 'a\u0001\u007f', '\ufffd\uffff', '😀'])
    expect([isText(text), keptText(text)]).toEqual([true, text])
  for (const text of ['\u0000', 'a\ud800', '\udc00b']) expect(isText(text)).toBe(false)
  expect(keptText('a\u0000\ud800b')).toBe('a\ufffd\ufffdb')
})

test('a refused text is reported with its field', () => {
  expect(unkeptIn({ a: ['b', { c: '\u0000' }] }, '')).toBe('a.1.c')
  expect(unkeptIn('\ud800', 'name')).toBe('name')
  expect(unkeptIn({ '\u0000': 1 }, '')).toBe('the key "\\u0000"')
  const round: Record<string, unknown> = { bytes: new Uint8Array(8), date: new Date(0), none: null }
  round.again = round
  expect(unkeptIn(round, '')).toBeNull()
})

test('an error message is storable in catalogues, whatever input it quotes', () => {
  expect(new HoldfastError('UNAVAILABLE', 'the cluster said "\u0000"').message).toBe('the cluster said "\ufffd"')
})
