import { randomUUID } from 'node:crypto'
import { PAGED_BYTES } from '../../concurrency/capacity/page-memory.ts'
import { type ByteRange, rangesOf } from '../../content/unixfs/file-stream.ts'
import type { FileNode } from '../../content/unixfs/node.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import { parseRanges } from '../http/byte-range.ts'
import { isUnchanged, rangeApplies, type Validators } from '../http/conditions.ts'
import { notModified } from '../http/not-modified.ts'
import { contentHeaders } from './content-headers.ts'
import type { Lookup } from './lookup.ts'

/** The ETag is strong. */
export interface Representation extends Validators {
  file: FileNode
  contentType: string
  headers?: Readonly<Record<string, string>>
}

/** Returns the file, its requested ranges, or a 304 response. */
export function bytesResponse(lookup: Lookup, representation: Representation): ApiResponse {
  const { request } = lookup
  const { file, etag, contentType: type } = representation
  const headers = { ...contentHeaders(lookup, etag), ...representation.headers }
  if (isUnchanged(request, representation)) return notModified(headers)
  const ranges = rangeApplies(request, representation) ? parseRanges(request.header('range'), file.size) : null
  if (ranges?.length === 0) throw unsatisfiable(file.size)
  headers['accept-ranges'] = 'bytes'
  if (ranges !== null && ranges.length > 1) return multipartResponse(lookup, file, ranges, type, headers)
  const range = ranges?.[0] ?? { start: 0, end: file.size }
  headers['content-type'] = type
  headers['content-length'] = String(range.end - range.start)
  if (ranges !== null) headers['content-range'] = contentRange(range, file.size)
  return {
    status: ranges === null ? 200 : 206,
    headers,
    body: request.method === 'HEAD' ? null : bodyOf(lookup, file, range),
  }
}

/** Returns the body. A small file of one block is already in memory and needs no stream. */
function bodyOf(lookup: Lookup, file: FileNode, range: ByteRange): ApiResponse['body'] {
  if (file.links.length === 0 && file.size < PAGED_BYTES) return file.inline.subarray(range.start, range.end)
  return rangesOf(lookup.blocks, file)(range)
}

function multipartResponse(
  lookup: Lookup,
  file: FileNode,
  ranges: readonly ByteRange[],
  type: string,
  headers: Record<string, string>,
): ApiResponse {
  const stream = rangesOf(lookup.blocks, file)
  // The body must not refer to the file, whose bytes may be a large block.
  const { size } = file
  const boundary = randomUUID()
  const heads = ranges.map((range, index) =>
    Buffer.from(
      `${index === 0 ? '' : '\r\n'}--${boundary}\r\n` +
        `Content-Type: ${type}\r\nContent-Range: ${contentRange(range, size)}\r\n\r\n`,
    ),
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  const length = ranges.reduce((sum, range) => sum + range.end - range.start, tail.length)
  async function* parts(): AsyncGenerator<Uint8Array, void, undefined> {
    for (const [index, range] of ranges.entries()) {
      yield heads[index] ?? tail
      yield* stream(range)
    }
    yield tail
  }
  headers['content-type'] = `multipart/byteranges; boundary=${boundary}`
  headers['content-length'] = String(heads.reduce((sum, head) => sum + head.length, length))
  return { status: 206, headers, body: lookup.request.method === 'HEAD' ? null : parts() }
}

function contentRange({ start, end }: ByteRange, size: number): string {
  return `bytes ${start}-${end - 1}/${size}`
}

function unsatisfiable(size: number): HoldfastError {
  return new HoldfastError('RANGE_NOT_SATISFIABLE', `range is outside the content's ${size} bytes`, {
    details: { size },
  })
}
