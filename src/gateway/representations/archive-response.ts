import type { ByteRange } from '../../content/unixfs/file-stream.ts'
import { isFileName } from '../../domain/byte-text.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { ApiResponse } from '../../http/api-messages.ts'
import { isUnchanged } from '../http/conditions.ts'
import { dispositionHeader } from '../http/disposition.ts'
import { CAR_PARAMETERS, type FormatChoice, isKnownCar, MEDIA_TYPE } from '../http/format.ts'
import { notModified } from '../http/not-modified.ts'
import { type DagScope, streamCar } from './car-stream.ts'
import { contentHeaders, headerName } from './content-headers.ts'
import type { Lookup } from './lookup.ts'
import { streamTar } from './tar-stream.ts'

/** Increment the version after a change of the archives, so caches do not keep earlier ones. */
const TAR_VERSION = 2

/**
 * Returns a CAR of the blocks along the path and of the DAG at the end of the path.
 *
 * @throws HoldfastError `VALIDATION` for an invalid query parameter
 */
export function carResponse(lookup: Lookup, { parameters }: FormatChoice): ApiResponse {
  const { node, query, trail, blocks } = lookup
  const duplicates = wantsDuplicates(query, parameters)
  const bytes = query.get('entity-bytes')
  const scope = bytes === null ? scopeOf(query) : 'entity'
  const range = bytes === null || node.kind !== 'file' ? null : parseEntityBytes(bytes, node.size)
  const isEmpty = range !== null && range.start >= range.end
  const named = headerName(node.cid)
  const variant = [scope, range === null ? '' : `.${bytes}`, duplicates ? '.dups' : ''].join('')
  return archive(lookup, {
    etag: `W/"${named}.car.${variant}"`,
    type: `${MEDIA_TYPE.car}; version=1; order=dfs; dups=${duplicates ? 'y' : 'n'}`,
    name: `${named}.car`,
    body: () => streamCar(blocks, { trail, scope: isEmpty ? 'block' : scope, range, duplicates }),
  })
}

/**
 * Returns a TAR archive of the file or directory at the end of the path.
 *
 * @throws HoldfastError `VALIDATION` if the content is not UnixFS
 */
export function tarResponse(lookup: Lookup): ApiResponse {
  const { node, block, blocks, names } = lookup
  if (node.kind === 'opaque') throw new HoldfastError('VALIDATION', `format tar needs UnixFS, which ${node.cid} is not`)
  const last = names.at(-1) ?? ''
  const name = isFileName(last) ? last : headerName(node.cid)
  return archive(lookup, {
    etag: `W/"${headerName(node.cid)}.x-tar.v${TAR_VERSION}"`,
    type: MEDIA_TYPE.tar,
    name: `${name}.tar`,
    body: () => streamTar(blocks, { node, block }, name),
  })
}

function archive(
  lookup: Lookup,
  { etag, type, name, body }: { etag: string; type: string; name: string; body: () => AsyncIterable<Uint8Array> },
): ApiResponse {
  const { request, query } = lookup
  const headers = { ...contentHeaders(lookup, etag), 'accept-ranges': 'none' }
  if (isUnchanged(request, { etag })) return notModified(headers)
  return {
    status: 200,
    headers: { ...headers, 'content-type': type, ...dispositionHeader(query, { kind: 'attachment', name }) },
    body: request.method === 'HEAD' ? null : body(),
  }
}

function wantsDuplicates(query: URLSearchParams, accepted: ReadonlyMap<string, string>): boolean {
  const parameters = new Map(accepted)
  for (const name of CAR_PARAMETERS) {
    const value = query.get(`car-${name}`)
    if (value !== null) parameters.set(name, value)
  }
  if (!isKnownCar(parameters)) {
    throw new HoldfastError('VALIDATION', 'car-version must be 1, car-order dfs or unk, car-dups y or n')
  }
  return parameters.get('dups') === 'y'
}

function scopeOf(query: URLSearchParams): DagScope {
  const scope = query.get('dag-scope') ?? 'all'
  if (scope === 'block' || scope === 'entity' || scope === 'all') return scope
  throw new HoldfastError('VALIDATION', 'dag-scope must be block, entity or all')
}

/**
 * Parses a byte range `from:to` with inclusive bounds. A negative number counts from the end, and `*` is the last byte.
 * Returns the part inside the content, which is empty for a reversed range.
 *
 * @throws HoldfastError `VALIDATION` if the text is malformed or the range is outside the content
 */
function parseEntityBytes(text: string, size: number): ByteRange {
  const match = /^(-?\d{1,20}):(-?\d{1,20}|\*)$/.exec(text)
  if (match === null) throw new HoldfastError('VALIDATION', 'entity-bytes must be from:to, such as 0:1023, -1024:*')
  const [, from = '', to = ''] = match
  const start = offsetOf(from, size)
  const end = to === '*' ? size : offsetOf(to, size) + 1
  if (size > 0 && (start >= size || (end <= 0 && start < end))) {
    throw new HoldfastError('VALIDATION', `entity-bytes is outside the content's ${size} bytes`)
  }
  return { start: Math.max(0, start), end: Math.min(size, Math.max(0, end)) }
}

function offsetOf(text: string, size: number): number {
  return text.startsWith('-') ? size + Number(text) : Number(text)
}
