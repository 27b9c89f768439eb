import { hostNameOf, isLoopbackName } from '../../domain/host-name.ts'
import type { ApiRequest, ApiResponse } from '../../http/api-messages.ts'
import { parseHost } from './subdomain.ts'

/** The parts of a request that decide where its documents are. */
export type AskedOrigin = Pick<ApiRequest, 'header' | 'scheme'>

export interface ApartOptions {
  /** Public URL of a gateway on an origin of its own, without a slash at the end. */
  publicUrl?: string | undefined
  /** Parent domain of the content host names. */
  host?: string | undefined
  ownOrigin?: boolean | undefined
}

/**
 * The gateway on an origin apart from the API and the console. Pages of that origin cannot read what the console
 * stores.
 */
export class ApartGateway {
  readonly #options: ApartOptions
  /** Port of this machine that serves only the gateway, over plain HTTP. */
  port: number | null = null

  constructor(options: ApartOptions) {
    this.#options = options
  }

  /**
   * Returns the base URL of the gateway for documents of a request, without a slash at the end. Null if they share the
   * origin of the request.
   *
   * @param request as the client sent it
   */
  baseFor(request: AskedOrigin): string | null {
    const { publicUrl, host = null, ownOrigin = false } = this.#options
    const mayUsePort = this.port !== null && request.scheme === 'http'
    if (ownOrigin || (publicUrl === undefined && !mayUsePort)) return null
    const asked = request.header('host')
    const name = hostNameOf(asked)
    if (name === null || (host !== null && parseHost(asked, host) !== null)) return null
    if (publicUrl !== undefined) return sharesHost(asked, publicUrl) ? null : publicUrl
    if (!isLoopbackName(name)) return null
    return portOf(asked) === this.port ? null : `http://${name}:${this.port}`
  }
}

/** Returns whether a request already names the host of the public URL. Redirecting it there would never end. */
function sharesHost(asked: string | undefined, publicUrl: string): boolean {
  const { host, protocol } = new URL(publicUrl)
  return new URL(`${protocol}//${asked}`).host === host
}

function portOf(asked: string | undefined): number {
  return Number(new URL(`http://${asked}`).port || 80)
}

/** Destinations that give content an origin, by `Sec-Fetch-Dest`. */
const DOCUMENTS: readonly (string | undefined)[] = [
  'document',
  'frame',
  'iframe',
  'fencedframe',
  'embed',
  'object',
  'worker',
  'sharedworker',
  'serviceworker',
]

/** Redirects the documents, frames and workers of browsers to the gateway apart. Answers all other requests. */
export function withDocumentsApart<Rest extends unknown[]>(
  gateway: (request: ApiRequest, ...rest: Rest) => Promise<ApiResponse>,
  apart: Pick<ApartGateway, 'baseFor'>,
): typeof gateway {
  return async (request, ...rest) => {
    const base = apart.baseFor(request)
    if (base === null) return gateway(request, ...rest)
    if (isDocument(request)) return redirect(base, request)
    const { headers, ...response } = await gateway(request, ...rest)
    const vary = headers.vary === undefined ? VARY : `${headers.vary}, ${VARY}`
    return { ...response, headers: { ...headers, vary } }
  }
}

const VARY = 'Sec-Fetch-Dest'

function isDocument(request: ApiRequest): boolean {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  return DOCUMENTS.includes(request.header('sec-fetch-dest')) || request.header('service-worker') !== undefined
}

function redirect(base: string, { path, query }: ApiRequest): ApiResponse {
  const target = (query === '' ? path : `${path}?${query}`).replace(/[^\x21-\x7e]/gu, encodeURIComponent)
  return { status: 307, headers: { location: base + target, 'cache-control': 'no-cache', vary: VARY }, body: null }
}
