import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseRanges } from '../../../src/gateway/http/byte-range.ts'

const offset = fc.nat({ max: 60 })
const spec = fc.oneof(
  fc.tuple(offset, offset).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
  offset.map(first => `${first}-`),
  offset.map(length => `-${length}`),
)

/** Lists the byte positions of a range. */
function positions(text: string, size: number): number[] {
  const all = Array.from({ length: size }, (_, index) => index)
  const [first = '', last = ''] = text.split('-')
  if (first === '') return all.slice(size - Math.min(size, Number(last)))
  return all.filter(index => index >= Number(first) && (last === '' || index <= Number(last)))
}

test('ranges select their bytes in the requested order', () => {
  fc.assert(
    fc.property(fc.array(spec, { minLength: 1, maxLength: 6 }), fc.nat({ max: 50 }), (specs, size) => {
      const wanted = specs.map(text => positions(text, size)).filter(found => found.length > 0)
      const ranges = parseRanges(`bytes=${specs.join(' , ')}`, size)
      if (wanted.length > 1 && wanted.flat().length > size) {
        expect(ranges).toBeNull()
      } else {
        const found = ranges?.map(({ start, end }) => Array.from({ length: end - start }, (_, index) => start + index))
        expect(found).toEqual(wanted)
      }
    }),
  )
})

test('a range is always inside the content', () => {
  const part = fc.constantFrom('bytes', '=', '-', ',', ' ', '0', '9', '99999999999999999999', 'x', '+', '.')
  fc.assert(
    fc.property(
      fc.array(part).map(parts => parts.join('')),
      fc.nat({ max: 50 }),
      (header, size) => {
        for (const { start, end } of parseRanges(header, size) ?? []) {
          expect(start).toBeGreaterThanOrEqual(0)
          expect(start).toBeLessThan(end)
          expect(end).toBeLessThanOrEqual(size)
        }
      },
    ),
  )
})

test.each(['', 'bytes', 'bytes=', 'bytes=-', 'bytes=1', 'bytes=2-1', 'bytes=a-b', 'items=0-1', 'bytes=0-1,x'])(
  'the header %j is ignored',
  header => {
    expect(parseRanges(header, 10)).toBeNull()
  },
)

test('units are case-insensitive', () => {
  expect(parseRanges('BYTES=0-0', 10)).toEqual([{ start: 0, end: 1 }])
})
