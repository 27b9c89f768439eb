import { expect, test } from 'vitest'
import { matchesAny, matchesStrongly } from '../../../src/gateway/http/etag.ts'

test.each([
  ['"a"', true],
  ['W/"a"', true],
  ['*', true],
  [' "b" , W/"a"', true],
  ['"b","c"', false],
  ['a', false],
  ['"a', false],
  ['"A"', false],
  ['', false],
])('If-None-Match %j', (header, matches) => {
  expect(matchesAny(header, '"a"')).toBe(matches)
  expect(matchesAny(header, 'W/"a"')).toBe(matches)
})

test('If-Range matches only the same strong tag', () => {
  expect(matchesStrongly(undefined, '"a"')).toBe(true)
  expect(matchesStrongly('"a"', '"a"')).toBe(true)
  expect(matchesStrongly('W/"a"', 'W/"a"')).toBe(false)
  expect(matchesStrongly('"b"', '"a"')).toBe(false)
})
