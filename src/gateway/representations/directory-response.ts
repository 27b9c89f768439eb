import type { ApiResponse } from '../../http/api-messages.ts'
import { jsonResponse } from '../../http/json-body.ts'
import { isUnchanged } from '../http/conditions.ts'
import { notModified } from '../http/not-modified.ts'
import { PAGE_HEADERS } from '../pages/html.ts'
import { listingPage, modeText } from '../pages/listing-page.ts'
import { type DirectoryNode, type Listing, listDirectory } from '../source/directory-listing.ts'
import { headerName, listingHeaders } from './content-headers.ts'
import type { Lookup } from './lookup.ts'

/** Increment the version after a change of the page's design or the JSON, so browsers reload it. */
const LISTING_VERSION = 2

export async function directoryResponse(
  lookup: Lookup,
  directory: DirectoryNode,
  form: 'html' | 'json',
): Promise<ApiResponse> {
  const { request, query, path, blocks } = lookup
  const after = query.get('after')
  const page = after === null ? '' : `_after-${Buffer.from(after).toString('base64url')}`
  const etag = `"DirIndex-${form}${LISTING_VERSION}_CID-${headerName(directory.cid)}${page}"`
  const headers = listingHeaders(lookup, etag)
  if (isUnchanged(request, { etag })) return notModified(headers)
  if (request.method === 'HEAD') return { status: 200, headers: { ...headers, ...typeOf(form) }, body: null }
  const listing = await listDirectory(blocks, directory, after)
  if (form === 'json') return jsonResponse(200, listingJson(directory, listing), headers)
  return { status: 200, headers: { ...headers, ...typeOf(form) }, body: listingPage(path, listing, after) }
}

/**
 * Redirects to the same path with a trailing slash. The target is relative if the gateway may be mounted below a path
 * prefix.
 */
export function slashRedirect({ request, path, blocks }: Lookup): ApiResponse {
  // A target that starts with two slashes would redirect to another host.
  const isWhole = path.isIsolated && !request.path.startsWith('//')
  const target = isWhole ? request.path : `./${request.path.slice(request.path.lastIndexOf('/') + 1)}`
  const query = request.query === '' ? '' : `?${request.query}`
  const cacheControl = blocks.liveUntil === null ? 'public, max-age=604800' : 'no-cache'
  return {
    status: 301,
    headers: { location: `${target}/${query}`, 'cache-control': cacheControl, vary: 'Accept' },
    body: null,
  }
}

function typeOf(form: 'html' | 'json'): Readonly<Record<string, string>> {
  if (form === 'json') return { 'content-type': 'application/json; charset=utf-8' }
  return PAGE_HEADERS
}

function listingJson({ cid }: DirectoryNode, { entries, next }: Listing): object {
  return {
    cid: cid.toString(),
    entries: entries.map(({ mode, mtime, ...entry }) => ({
      ...entry,
      cid: entry.cid.toString(),
      ...(mode !== undefined && { mode: modeText(mode) }),
      ...(mtime !== undefined && { mtime: new Date(mtime).toISOString() }),
    })),
    next,
  }
}
