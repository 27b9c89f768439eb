import { createHash } from 'node:crypto'
import type { CID } from 'multiformats/cid'
import { isLongIdentity } from '../../ipld/cid.ts'
import { formatContentPath } from '../http/content-path.ts'
import type { Lookup } from './lookup.ts'

const FOREVER_SECONDS = 29_030_400
const LISTING_SECONDS = 604_800
/** Characters; clients refuse answers whose headers are too long. */
const LONGEST_VALUE = 8192

/** For browsers of any origin; on every answer. */
export const contentCorsHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, OPTIONS',
  'access-control-allow-headers':
    'Accept, Cache-Control, Content-Type, If-None-Match, If-Range, Range, X-Requested-With',
  'access-control-expose-headers':
    // The specification names the last two as well, which no answer has.
    'Content-Disposition, Content-Length, Content-Range, ETag, Location, Retry-After, X-Ipfs-Path, X-Ipfs-Roots, X-Chunked-Output, X-Stream-Output',
}

/** What identifies content and lets it be cached. `etag` is that of the representation, quoted. */
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

/** What stands for a CID in an `ETag` and in the name of a download: its text, or a hash of one that is too long for a header. */
export function headerName(cid: CID): string {
  return isLongIdentity(cid) ? createHash('sha256').update(cid.bytes).digest('hex') : cid.toString()
}

/** As {@link contentHeaders}, for pages that another version may draw differently. */
export function listingHeaders(lookup: Lookup, etag: string): Record<string, string> {
  return { ...contentHeaders(lookup, etag), 'cache-control': cacheControl(lookup, LISTING_SECONDS, '') }
}

/** Nothing may be kept for longer than it may be served. */
function cacheControl({ blocks, now }: Lookup, seconds: number, suffix: string): string {
  const until = blocks.liveUntil
  if (until === null) return `public, max-age=${seconds}${suffix}`
  const left = Math.max(0, Math.floor((until - now) / 1000))
  return `public, max-age=${Math.min(left, seconds)}, must-revalidate`
}
