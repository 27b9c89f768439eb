import { expect, test } from 'vitest'
import { cborTokens } from '../../../src/content/dag/cbor-tokens.ts'

const valuesOf = (hex: string): unknown[] => {
  return [...cborTokens(Buffer.from(hex, 'hex'))].map(token => (token.kind === 'value' ? token.value : token.kind))
}

test('a token of CBOR has the value of any number or text', () => {
  expect(valuesOf('1b8000000000000000')).toEqual([2n ** 63n])
  expect(valuesOf('3b8000000000000000')).toEqual([-(2n ** 63n) - 1n])
  expect(valuesOf('f97e00')).toEqual([Number.NaN])
  expect(valuesOf('63efbfbd')).toEqual(['\ufffd'])
})

test.each([
  ['a text that is not UTF-8', '61ff'],
  ['a text whose replaced bytes look like its head', `79efbf${'bd'.padEnd(2 * 61_375, '61')}`],
  ['a key that is not UTF-8', 'a161ff01'],
  ['a key that is no text', 'a10101'],
  ['an indefinite length', '9fff'],
  ['an undefined value', 'f7'],
  ['a tag other than that of links', 'c101'],
  ['a link that is no bytes', 'd82a01'],
  ['a link without its first zero', 'd82a4101'],
  ['bytes after the document', '0101'],
  ['a document that ends early', '8201'],
])('%s is no DAG-CBOR', (_, hex) => {
  expect(() => valuesOf(hex)).toThrow()
})
