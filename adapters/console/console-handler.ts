import {
  type ApiHandler,
  type ApiRequest,
  type ApiResponse,
  asSentByClient,
  type Engine,
  type Logger,
  PROXY_HEADERS,
} from '../../src/index.ts'
import { type ConsoleFile, consoleFiles } from './console-files.ts'
import { unsafeConnection } from './safe-connection.ts'

/** What has to be known of an engine to serve its console. */
export type ConsoleEngine = Pick<Engine, 'trustedProxies'>

/** Where the console is. */
export interface ConsoleOptions {
  /**
   * What stands before `/console/` in the browser's address, e.g. `/pinning`; given even where a host program strips it.
   */
  prefix?: string
  /**
   * Where a proxy is reached that strips the path of this, e.g. `https://pins.example.org/storage`: its path, and not
   * `prefix`, holds for what comes through a proxy or asks for this host.
   */
  publicUrl?: string
  /** Is told when the page's files cannot be prepared. */
  logger?: Logger
}

/**
 * The console of an engine: a page to see, bring and run what the node has, in the browser, by the contract alone. Hand
 * it to a handler, which then answers `<prefix>/console/` with it.
 *
 * It keeps no credential and sets no cookie. Loading the page has the browser drop the cache and the storage of its
 * origin. By plain HTTP it is there on loopback only.
 */
export function createConsole(engine: ConsoleEngine, options: ConsoleOptions = {}): ApiHandler {
  return consoleOf(consoleFiles, engine, options)
}

/** A console of these files, which are prepared when they are first asked for, and again as long as that fails. */
export function consoleOf(
  prepare: () => Promise<ReadonlyMap<string, ConsoleFile>>,
  { trustedProxies }: ConsoleEngine,
  { prefix = '', publicUrl, logger }: ConsoleOptions,
): ApiHandler {
  const published = publicUrl === undefined ? null : new URL(publicUrl)
  let prepared: Promise<ReadonlyMap<string, ConsoleFile> | null> | undefined
  const files = (): Promise<ReadonlyMap<string, ConsoleFile> | null> => {
    prepared ??= prepare().catch(err => {
      prepared = undefined
      logger?.error({ err }, 'the files of the console cannot be prepared')
      return null
    })
    return prepared
  }
  return async received => {
    const request = asSentByClient(received, trustedProxies)
    if (request.method !== 'GET' && request.method !== 'HEAD') return told(405, 'GET or HEAD', { allow: 'GET, HEAD' })
    if (request.path === '/console') return told(308, 'console/', { location: `console/${queryOf(request)}` })
    const unsafe = unsafeConnection(request, trustedProxies)
    if (unsafe !== null) return told(403, unsafe)
    // A script of this path, even ours, would have its pages for as long as it likes.
    if (request.header('service-worker') !== undefined) return told(403, 'the console has no service worker')
    const found = await files()
    if (found === null) return told(500, 'the files of the console cannot be prepared: the log says why')
    const file = found.get(request.path.slice('/console/'.length))
    if (file === undefined) return told(404, 'the console has nothing there')
    const isPublished = published !== null && (isProxied(received) || request.header('host') === published.host)
    return answer(request, file, policyOf(request, isPublished ? published.pathname : prefix))
  }
}

/**
 * What the page may load and reach, by whole addresses: `'self'` would be everything on this origin, and what accounts
 * upload is served from it, too.
 */
function policyOf(request: ApiRequest, prefix: string): string {
  const mount = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix
  const origin = `${request.scheme === 'https' ? 'https' : 'http'}://${request.header('host')}${mount}`
  const own = `${origin}/console/`
  return [
    "default-src 'none'",
    `script-src ${own}`,
    `style-src ${own}`,
    `img-src ${own} data:`,
    `connect-src ${origin}/api/v3/ ${origin}/admin/v1/ ${origin}/health`,
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ')
}

function answer(request: ApiRequest, file: ConsoleFile, policy: string): ApiResponse {
  const isPage = file.type.startsWith('text/html')
  const headers: Record<string, string> = {
    ...(isPage ? { ...HEADERS, 'content-security-policy': policy } : PART_HEADERS),
    'content-type': file.type,
    'cache-control': isPage ? 'no-store' : 'no-cache',
    etag: file.etag,
    vary: 'accept-encoding',
    // Pages of others that were kept from this origin before it was kept apart would run here without a sandbox.
    ...(isPage && { 'clear-site-data': '"cache", "storage"' }),
  }
  const matches = request
    .header('if-none-match')
    ?.split(',')
    .some(tag => tag.trim() === file.etag)
  if (!isPage && matches === true) return { status: 304, headers, body: null }
  const isGzipped = acceptsGzip(request.header('accept-encoding'))
  if (isGzipped) headers['content-encoding'] = 'gzip'
  const bytes = isGzipped ? file.gzipped : file.plain
  headers['content-length'] = String(bytes.byteLength)
  return { status: 200, headers, body: request.method === 'HEAD' ? null : bytes }
}

/** Of what the page loads. What may be done in it, the page's own headers say. */
const PART_HEADERS = {
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const

/** Of a page. No window that another page has opened, or that opens another page, holds on to this one. */
const HEADERS = {
  ...PART_HEADERS,
  'cross-origin-opener-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
} as const

function told(status: number, text: string, headers: Readonly<Record<string, string>> = {}): ApiResponse {
  return {
    status,
    headers: {
      ...HEADERS,
      'content-type': 'text/plain; charset=utf-8',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      ...headers,
    },
    body: `${text}\n`,
  }
}

/** Nothing else tells who strips a path: of a request that came straight here there is nothing to strip. */
function isProxied(request: ApiRequest): boolean {
  return PROXY_HEADERS.some(name => request.header(name) !== undefined)
}

function queryOf({ query }: ApiRequest): string {
  return query === '' ? '' : `?${query}`
}

function acceptsGzip(header = ''): boolean {
  return header.split(',').some(coding => {
    const [name = '', weight = 'q=1'] = coding.split(';').map(part => part.trim().toLowerCase())
    return name === 'gzip' && !/^q=0(\.0*)?$/.test(weight)
  })
}
