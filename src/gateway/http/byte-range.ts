import type { ByteRange } from '../../content/unixfs/file-stream.ts'

/** More ranges than any player or reader asks for in one request. */
const MOST_RANGES = 32

/**
 * What a `Range` header asks of `size` bytes: the satisfiable ranges in the order asked, cut at the end; empty if
 * none is satisfiable; null if the header is to be ignored, because it is malformed, of another unit, or asks for
 * more than the whole.
 */
export function parseRanges(header: string | undefined, size: number): ByteRange[] | null {
  if (header === undefined) return null
  const match = /^\s*bytes\s*=(.*)$/is.exec(header)
  if (match === null) return null
  const specs = (match[1] ?? '').split(',').map(spec => spec.trim())
  if (specs.length > MOST_RANGES) return null
  const ranges: ByteRange[] = []
  for (const spec of specs) {
    if (spec === '' && specs.length > 1) continue
    const range = parseSpec(spec, size)
    if (range === null) return null
    if (range.start < range.end) ranges.push(range)
  }
  const total = ranges.reduce((sum, range) => sum + range.end - range.start, 0)
  return ranges.length > 1 && total > size ? null : ranges
}

/** An empty range for one that cannot be satisfied, null for one that makes no sense. */
function parseSpec(spec: string, size: number): ByteRange | null {
  const match = /^(\d*)\s*-\s*(\d*)$/.exec(spec)
  if (match === null) return null
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return null
  if (first === '') return { start: Math.max(0, size - Number(last)), end: size }
  const start = Number(first)
  if (last === '') return { start, end: size }
  return Number(last) < start ? null : { start, end: Math.min(Number(last) + 1, size) }
}
