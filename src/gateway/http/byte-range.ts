import type { ByteRange } from '../../content/unixfs/file-stream.ts'

/** Maximum number of ranges in a header. Media players and PDF readers request fewer. */
const MOST_RANGES = 32

/**
 * Parses a `Range` header for `size` bytes. Returns the satisfiable ranges in the requested order, clipped at the end
 * of the content. Returns an empty array if no range is satisfiable. Returns null if the header is malformed, has
 * another unit or has too many ranges. Also returns null if the ranges together are longer than the content. The caller
 * must then ignore the header.
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

/** Parses one range. The result is empty if the range is not satisfiable, and null if the text is malformed. */
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
