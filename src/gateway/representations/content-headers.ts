import { createHash } from 'node:crypto'
import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import type { ApiRequest, ApiResponse } from '../../http/api-messages.ts'
import { isLongIdentity } from '../../ipld/cid.ts'
import { formatContentPath } from '../http/content-path.ts'
import type { Lookup } from './lookup.ts'

const FOREVER_SECONDS = 29_030_400
const LISTING_SECONDS = 604_800
/** Maximum number of characters of a header value. Clients refuse responses with longer headers. */
const LONGEST_VALUE = 8192

const ALLOWED_HEADERS =
  'Accept, Cache-Control, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Range, X-Requested-With'

const contentCorsHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers': ALLOWED_HEADERS,
  'access-control-expose-headers':
    // The gateway specification requires the last two names, although no response has these headers.
    'Content-Disposition, Content-Length, Content-Range, ETag, Location, Retry-After, X-Ipfs-Path, X-Ipfs-Roots, X-Chunked-Output, X-Stream-Output',
}

/** @param etag with quotes */
export function contentHeaders(lookup: Lookup, etag: string): Record<string, string> {
  const roots = lookup.roots.join(',')
  const path = formatContentPath(lookup.path.root, lookup.path.names) + (lookup.path.hasTrailingSlash ? '/' : '')
  return {
    etag,
    'cache-control': cacheControl(lookup, FOREVER_SECONDS, ', immutable'),
    vary: 'Accept',
    ...(path.length <= LONGEST_VALUE && { 'x-ipfs-path': path }),
    ...(roots.length <= LONGEST_VALUE && { 'x-ipfs-roots': roots }),
    'x-content-type-options': 'nosniff',
  }
}

/** Returns the CID for use in an `ETag` or file name. Replaces a CID that is too long for a header with its hash. */
export function headerName(cid: CID): string {
  return isLongIdentity(cid) ? createHash('sha256').update(cid.bytes).digest('hex') : cid.toString()
}

/**
 * Returns {@link contentHeaders} with a shorter cache time, because another version of Holdfast may render differently.
 */
export function listingHeaders(lookup: Lookup, etag: string): Record<string, string> {
  return { ...contentHeaders(lookup, etag), 'cache-control': cacheControl(lookup, LISTING_SECONDS, '') }
}

/** Returns a `Cache-Control` value whose time ends before the content expires. */
function cacheControl({ blocks, now }: Lookup, seconds: number, suffix: string): string {
  const until = blocks.liveUntil
  if (until === null) return `public, max-age=${seconds}${suffix}`
  const left = Math.max(0, Math.floor((until - now) / 1000))
  return `public, max-age=${Math.min(left, seconds)}, must-revalidate`
}

const METHODS = 'GET, HEAD, OPTIONS'
const PREFLIGHT_SECONDS = '86400'

/** Response to a preflight of any origin. */
export const PREFLIGHT: ApiResponse = {
  status: 204,
  headers: { allow: METHODS, 'access-control-max-age': PREFLIGHT_SECONDS },
  body: null,
}

/** Response to a preflight of a gateway that reads credentials. Browsers ask it before they send one. */
export const OWN_PREFLIGHT: ApiResponse = {
  ...PREFLIGHT,
  headers: { ...PREFLIGHT.headers, 'access-control-allow-headers': `${ALLOWED_HEADERS}, Authorization, X-API-Key` },
}

/** @param subject first words of the message, such as `content` */
export function methodRefused(subject: string): HoldfastError {
  return new HoldfastError('METHOD_NOT_ALLOWED', `${subject} supports only ${METHODS}`, { details: { allow: METHODS } })
}

/** Adds the headers that each response of a gateway has, and omits the body of a response to `HEAD`. */
export function finished(request: ApiRequest, { status, headers, body }: ApiResponse): ApiResponse {
  const known = typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {}
  return {
    status,
    headers: { ...contentCorsHeaders, ...known, ...headers },
    body: request.method === 'HEAD' ? null : body,
  }
}
