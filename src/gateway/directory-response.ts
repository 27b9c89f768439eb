import { jsonResponse } from '../http/json-response.ts'
import type { ApiResponse } from '../http/types.ts'
import { wantsJson } from './accept.ts'
import { listingHeaders } from './content-headers.ts'
import { type DirectoryNode, type Listing, listDirectory } from './directory-listing.ts'
import { matchesAny } from './etag.ts'
import { PAGE_POLICY } from './html.ts'
import { listingPage } from './listing-page.ts'
import type { Lookup } from './lookup.ts'
import { notModified } from './not-modified.ts'

/** Raised when the page changes its looks, so that browsers fetch it anew. */
const PAGE_VERSION = 1

/** A generated listing, as a page or as JSON. */
export async function directoryResponse(lookup: Lookup, directory: DirectoryNode): Promise<ApiResponse> {
  const { request, query, path, blocks } = lookup
  const json = wantsJson(request.header('accept'))
  const after = query.get('after')
  const form = json ? 'json' : `html${PAGE_VERSION}`
  const page = after === null ? '' : `-${Buffer.from(after).toString('base64url')}`
  // Weak by nature: two versions of the page show the same directory.
  const etag = `W/"${directory.cid}.${form}${page}"`
  const headers = listingHeaders(lookup, etag)
  if (matchesAny(request.header('if-none-match'), etag)) return notModified(headers)
  const listing = await listDirectory(blocks, directory, after)
  if (json) return jsonResponse(200, listingJson(directory, listing), headers)
  return {
    status: 200,
    headers: {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': PAGE_POLICY,
    },
    body: listingPage(path, listing, after),
  }
}

/** To the same path with a slash, relative so that it keeps whatever prefix the gateway is mounted under. */
export function slashRedirect({ request }: Lookup): ApiResponse {
  const last = request.path.slice(request.path.lastIndexOf('/') + 1)
  const query = request.query === '' ? '' : `?${request.query}`
  return { status: 301, headers: { location: `./${last}/${query}`, 'cache-control': 'no-cache' }, body: null }
}

function listingJson({ cid }: DirectoryNode, { entries, next }: Listing): object {
  return {
    cid: cid.toString(),
    entries: entries.map(entry => ({ ...entry, cid: entry.cid.toString() })),
    next,
  }
}
