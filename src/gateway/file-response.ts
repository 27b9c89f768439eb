import { randomUUID } from 'node:crypto'
import { HoldfastError } from '../domain/errors.ts'
import type { ApiResponse } from '../http/types.ts'
import { type ByteRange, parseRanges } from './byte-range.ts'
import { contentHeaders } from './content-headers.ts'
import { SNIFFED_BYTES, typeOfBytes, typeOfName } from './content-type.ts'
import { attachment } from './disposition.ts'
import { matchesStrongly } from './etag.ts'
import { streamFile } from './file-stream.ts'
import type { Lookup } from './lookup.ts'
import type { FileNode } from './unixfs-node.ts'

/** The answer with a file's bytes: whole, one range, or several. */
export async function fileResponse(lookup: Lookup, file: FileNode, etag: string): Promise<ApiResponse> {
  const { request, query } = lookup
  const ranges = matchesStrongly(request.header('if-range'), etag)
    ? parseRanges(request.header('range'), file.size)
    : null
  if (ranges?.length === 0) throw unsatisfiable(file.size)
  const name = query.get('filename') || lookup.names.at(-1) || ''
  const type = typeOfName(name) ?? (await sniff(lookup, file))
  const headers = { ...contentHeaders(lookup, etag), 'accept-ranges': 'bytes', ...attachment(query, name) }
  if (ranges !== null && ranges.length > 1) return multipartResponse(lookup, file, ranges, type, headers)
  const range = ranges?.[0] ?? { start: 0, end: file.size }
  return {
    status: ranges === null ? 200 : 206,
    headers: {
      ...headers,
      'content-type': type,
      'content-length': String(range.end - range.start),
      ...(ranges === null ? {} : { 'content-range': contentRange(range, file.size) }),
    },
    body: request.method === 'HEAD' ? null : bodyOf(lookup, file, range),
  }
}

/** A file in one block is answered at once; its bytes are there already. */
function bodyOf(lookup: Lookup, file: FileNode, range: ByteRange): ApiResponse['body'] {
  if (file.children.length === 0) return file.inline.subarray(range.start, range.end)
  return streamFile(cid => lookup.blocks.get(cid), file, range)
}

function multipartResponse(
  lookup: Lookup,
  file: FileNode,
  ranges: readonly ByteRange[],
  type: string,
  headers: Record<string, string>,
): ApiResponse {
  const boundary = randomUUID()
  const heads = ranges.map((range, index) =>
    Buffer.from(
      `${index === 0 ? '' : '\r\n'}--${boundary}\r\n` +
        `Content-Type: ${type}\r\nContent-Range: ${contentRange(range, file.size)}\r\n\r\n`,
    ),
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  const length = ranges.reduce((sum, range) => sum + range.end - range.start, tail.length)
  async function* parts(): AsyncGenerator<Uint8Array, void, undefined> {
    for (const [index, range] of ranges.entries()) {
      yield heads[index] ?? tail
      yield* streamFile(cid => lookup.blocks.get(cid), file, range)
    }
    yield tail
  }
  return {
    status: 206,
    headers: {
      ...headers,
      'content-type': `multipart/byteranges; boundary=${boundary}`,
      'content-length': String(heads.reduce((sum, head) => sum + head.length, length)),
    },
    body: lookup.request.method === 'HEAD' ? null : parts(),
  }
}

async function sniff(lookup: Lookup, file: FileNode): Promise<string> {
  const range = { start: 0, end: Math.min(SNIFFED_BYTES, file.size) }
  const chunks: Uint8Array[] = []
  for await (const chunk of streamFile(cid => lookup.blocks.get(cid), file, range)) chunks.push(chunk)
  return typeOfBytes(Buffer.concat(chunks))
}

function contentRange({ start, end }: ByteRange, size: number): string {
  return `bytes ${start}-${end - 1}/${size}`
}

function unsatisfiable(size: number): HoldfastError {
  return new HoldfastError('RANGE_NOT_SATISFIABLE', `range lies outside of the content's ${size} bytes`, {
    details: { size },
  })
}
