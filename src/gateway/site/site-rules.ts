import { streamFile } from '../../content/unixfs/file-stream.ts'
import { isHoldfastError } from '../../domain/errors.ts'
import type { ApiRequest, ApiResponse } from '../../http/api-messages.ts'
import { namesIn } from '../http/content-path.ts'
import { contentHeaders } from '../representations/content-headers.ts'
import type { Lookup } from '../representations/lookup.ts'
import { respond } from '../representations/respond.ts'
import { findEntry, type Resolved, resolve } from '../source/resolver.ts'
import { LARGEST_REDIRECTS, type Redirect, type RedirectStatus, WebRedirects } from './web-redirects.ts'

export type FailedLookup = Omit<Lookup, keyof Resolved>

const FILE = '_redirects'

/**
 * Applies the site's `_redirects` file to a missing path. Returns null if no rule matches.
 *
 * @throws HoldfastError `REDIRECTS_INVALID`; `NOT_FOUND` if the substitute page is missing as well
 */
export async function siteResponse(lookup: FailedLookup): Promise<ApiResponse | null> {
  const { blocks, path } = lookup
  const root = await resolve(blocks, path.root, [], true)
  const rules = await readRules(lookup, root)
  const redirect = rules?.match(path.names) ?? null
  if (redirect === null) return null
  if (redirect.status >= 300 && redirect.status < 400) return redirectTo({ ...lookup, ...root }, redirect)
  const [target = ''] = redirect.to.split(/[?#]/, 1)
  const resolved = await resolve(blocks, path.root, namesIn(target), true)
  const page: Lookup = { ...lookup, ...resolved, path: { ...path, hasTrailingSlash: true } }
  if (redirect.status === 200) return respond(page, null)
  return withStatus(await respond({ ...page, request: whole(lookup.request) }, null), redirect.status)
}

async function readRules({ blocks }: FailedLookup, root: Resolved): Promise<WebRedirects | null> {
  const cid = await findEntry(blocks, root.node, FILE)
  if (cid === null) return null
  const { node: file } = await blocks.load(cid)
  if (file.kind !== 'file') return null
  const chunks: Uint8Array[] = []
  // One byte more than allowed, so the parser can detect a file that is too long.
  const end = Math.min(file.size, LARGEST_REDIRECTS + 1)
  for await (const chunk of streamFile(blocks, file, { start: 0, end })) chunks.push(chunk)
  return new WebRedirects(Buffer.concat(chunks))
}

function redirectTo(lookup: Lookup, { to, status }: Redirect): ApiResponse {
  const { request } = lookup
  const query = request.query === '' || to.includes('?') ? '' : `?${request.query}`
  const { etag: _, ...headers } = contentHeaders(lookup, '')
  return { status, headers: { ...headers, location: to + query }, body: null }
}

/** Headers that refer to the missing page. */
const CONDITIONS = new Set([
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
])

/** Removes range and cache conditions from the request. */
function whole(request: ApiRequest): ApiRequest {
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    header: name => (CONDITIONS.has(name) ? undefined : request.header(name)),
    body: request.body,
    signal: request.signal,
    scheme: request.scheme,
    remoteAddress: request.remoteAddress,
  }
}

function withStatus(response: ApiResponse, status: RedirectStatus): ApiResponse {
  const { 'accept-ranges': _, ...headers } = response.headers
  return { ...response, status, headers }
}

/** Checks whether the site's `_redirects` rules apply to an error: a missing path on a content host. */
export function isSiteMatter(lookup: FailedLookup, error: unknown): boolean {
  return lookup.path.isIsolated && isHoldfastError(error, 'NOT_FOUND')
}
