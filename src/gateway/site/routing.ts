import { HoldfastError } from '../../domain/errors.ts'
import type { ApiRequest, ApiResponse } from '../../http/api-messages.ts'
import { type ContentPath, parseContentPath, parseIsolatedPath } from '../http/content-path.ts'
import type { FormatChoice } from '../http/format.ts'
import { checkLabel, labelOf, parseHost } from './subdomain.ts'

/**
 * Returns the content path of a request, or a redirect.
 *
 * @param host parent domain of the content host names; null if the gateway has no content host names
 * @throws HoldfastError `NOT_FOUND`, `INVALID_CID`, `INVALID_PATH`; `VALIDATION` for a service worker whose scope
 * exceeds its own content, or for an invalid `uri` parameter
 */
export function siteRoute(
  request: ApiRequest,
  query: URLSearchParams,
  choice: FormatChoice | null,
  host: string | null,
): { path: ContentPath } | { response: ApiResponse } {
  const at = host === null ? null : parseHost(request.header('host'), host)
  if (at !== null && at.label !== null) {
    checkLabel(at.label)
    return { path: parseIsolatedPath(at.label, request.path, at.base) }
  }
  const uri = query.get('uri')
  if (uri !== null && /^\/ipfs\/?$/.test(request.path)) return { response: openUri(request.path, uri, at !== null) }
  const doubled = withoutDoubledMount(request)
  if (doubled !== null) return { response: redirect(doubled) }
  const path = parseContentPath(request.path)
  // An explicit format needs no redirect, because browsers do not render it as a page.
  if (at !== null && choice === null) return { response: isolate(request, path, at.base) }
  checkServiceWorker(request, path)
  return { path }
}

function isolate(request: ApiRequest, { cid }: ContentPath, base: string): ApiResponse {
  const slash = request.path.indexOf('/', '/ipfs/'.length)
  const rest = slash === -1 ? '/' : request.path.slice(slash)
  const query = request.query === '' ? '' : `?${request.query}`
  const scheme = request.scheme === undefined ? '' : `${request.scheme}:`
  return redirect(`${scheme}//${labelOf(cid)}.ipfs.${base}${rest}${query}`)
}

/**
 * Redirects a browser that opens an `ipfs://` address.
 *
 * @param isTop true if the gateway is at the root of its host, so the redirect can be absolute
 */
function openUri(path: string, uri: string, isTop: boolean): ApiResponse {
  const match = /^ipfs:\/\/([^/?#]+)([^?#]*)(\?[^#]*)?/.exec(uri)
  if (match === null) throw new HoldfastError('VALIDATION', 'uri must be an ipfs:// address')
  const [, root = '', rest = '', query = ''] = match
  const target = encodeURIComponent(root) + (rest + query).replace(/[^\x21-\x7e]/gu, encodeURIComponent)
  const base = path.endsWith('/') ? './' : './ipfs/'
  return redirect((isTop ? '/ipfs/' : base) + target)
}

/**
 * Returns a relative URL without the second `/ipfs` of a path, or null. Browsers make such a path of `ipfs://ipfs/<cid>`.
 */
function withoutDoubledMount({ path, query }: ApiRequest): string | null {
  const [, rest = ''] = /^\/ipfs\/ipfs(\/.*)$/s.exec(path) ?? []
  if (rest === '' || !isContentPath(`/ipfs${rest}`)) return null
  const up = '../'.repeat(rest.split('/').length - 1)
  return `${up}${rest.slice(1)}${query === '' ? '' : `?${query}`}`
}

function isContentPath(path: string): boolean {
  try {
    parseContentPath(path)
    return true
  } catch {
    return false
  }
}

function redirect(location: string): ApiResponse {
  return { status: 301, headers: { location, 'cache-control': 'no-cache' }, body: null }
}

/** Refuses a service worker directly below `/ipfs/`, which would control all content of the gateway. */
function checkServiceWorker(request: ApiRequest, path: ContentPath): void {
  if (request.header('service-worker') === 'script' && path.names.length === 0) {
    throw new HoldfastError('VALIDATION', 'service-worker: a worker can only be registered below a content root')
  }
}
