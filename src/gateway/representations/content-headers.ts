import { createHash } from 'node:crypto'
import type { CID } from 'multiformats/cid'
import { isLongIdentity } from '../../ipld/cid.ts'
import { formatContentPath } from '../http/content-path.ts'
import type { Lookup } from './lookup.ts'

const FOREVER_SECONDS = 29_030_400
const LISTING_SECONDS = 604_800
/** Maximum number of characters of a header value. Clients refuse responses with longer headers. */
const LONGEST_VALUE = 8192

export const contentCorsHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers':
    'Accept, Cache-Control, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Range, X-Requested-With',
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
