import type { ByteRange } from '../../content/unixfs/file-stream.ts'

/** Media players and PDF readers request fewer ranges. */
const MOST_RANGES = 32

/**
 * Parses a `Range` header. Clips ranges to the content and omits unsatisfiable ranges. Returns null if the caller must
 * ignore the header: if it is malformed, has too many ranges, or requests more bytes than the content has.
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

/** Returns an empty range if the range is not satisfiable, and null if the text is malformed. */
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
