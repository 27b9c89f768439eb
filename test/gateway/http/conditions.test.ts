import { expect, test } from 'vitest'
import { isUnchanged, rangeApplies } from '../../../src/gateway/http/conditions.ts'

const MODIFIED = Date.parse('2020-01-02T03:04:05.678Z')
const SAME = 'Thu, 02 Jan 2020 03:04:05 GMT'
const EARLIER = 'Thu, 02 Jan 2020 03:04:04 GMT'

function asked(headers: Record<string, string>): { header: (name: string) => string | undefined } {
  return { header: name => headers[name] }
}

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
  expect(isUnchanged(asked({ 'if-none-match': header }), { etag: '"a"' })).toBe(matches)
  expect(isUnchanged(asked({ 'if-none-match': header }), { etag: 'W/"a"' })).toBe(matches)
})

test.each([
  ['"a"', '"a"', true],
  ['"b", "a"', '"a"', true],
  ['*', '"a"', true],
  ['*', 'W/"a"', true],
  ['W/"a"', '"a"', false],
  ['W/"a"', 'W/"a"', false],
  ['"a"', 'W/"a"', false],
  ['"b"', '"a"', false],
  ['a', '"a"', false],
  ['', '"a"', false],
])('If-Match %j for the ETag %s', (header, etag, matches) => {
  const check = () => isUnchanged(asked({ 'if-match': header }), { etag })
  if (matches) expect(check()).toBe(false)
  else expect(check).toThrow(expect.objectContaining({ code: 'PRECONDITION_FAILED' }))
})

/** Conditions in the order of RFC 9110, section 13.2.2. */
test.each<[headers: Record<string, string>, answer: 200 | 304 | 412]>([
  [{ 'if-unmodified-since': SAME }, 200],
  [{ 'if-unmodified-since': EARLIER }, 412],
  [{ 'if-unmodified-since': 'yesterday' }, 200],
  [{ 'if-match': '"a"', 'if-unmodified-since': EARLIER }, 200],
  [{ 'if-match': '"b"', 'if-unmodified-since': SAME }, 412],
  [{ 'if-match': '"b"', 'if-none-match': '"a"' }, 412],
  [{ 'if-match': '"a"', 'if-none-match': '"a"' }, 304],
  [{ 'if-unmodified-since': EARLIER, 'if-none-match': '"a"' }, 412],
  [{ 'if-modified-since': SAME }, 304],
  [{ 'if-modified-since': EARLIER }, 200],
  [{ 'if-modified-since': '7' }, 200],
  [{ 'if-modified-since': SAME, 'if-none-match': '"b"' }, 200],
  [{ 'if-modified-since': EARLIER, 'if-none-match': '"a"' }, 304],
])('%j of content with a modification date is %i', (headers, answer) => {
  const check = () => isUnchanged(asked(headers), { etag: '"a"', lastModified: MODIFIED })
  if (answer === 412) expect(check).toThrow(expect.objectContaining({ code: 'PRECONDITION_FAILED' }))
  else expect(check()).toBe(answer === 304)
})

test('dates are ignored for content without a modification date', () => {
  for (const name of ['if-modified-since', 'if-unmodified-since']) {
    expect(isUnchanged(asked({ [name]: EARLIER }), { etag: '"a"' })).toBe(false)
  }
})

test('If-Range matches only the same strong tag, or the same date', () => {
  expect(rangeApplies(asked({}), { etag: '"a"' })).toBe(true)
  expect(rangeApplies(asked({ 'if-range': '"a"' }), { etag: '"a"' })).toBe(true)
  expect(rangeApplies(asked({ 'if-range': 'W/"a"' }), { etag: 'W/"a"' })).toBe(false)
  expect(rangeApplies(asked({ 'if-range': '"b"' }), { etag: '"a"' })).toBe(false)
  expect(rangeApplies(asked({ 'if-range': SAME }), { etag: '"a"' })).toBe(false)
  expect(rangeApplies(asked({ 'if-range': SAME }), { etag: '"a"', lastModified: MODIFIED })).toBe(true)
  expect(rangeApplies(asked({ 'if-range': EARLIER }), { etag: '"a"', lastModified: MODIFIED })).toBe(false)
})
