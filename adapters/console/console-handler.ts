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

/** The part of an engine that the console needs. */
export type ConsoleEngine = Pick<Engine, 'trustedProxies'>

/** Location of the console. */
export interface ConsoleOptions {
  /** Path before `/console/` in the browser's address, e.g. `/pinning`; needed even if a host program strips it. */
  prefix?: string
  /**
   * Public URL of a proxy that strips a path, e.g. `https://pins.example.org/storage`. Its path replaces `prefix` for
   * requests through a proxy or for this host.
   */
  publicUrl?: string
  /** Logs a failure to prepare the page's files. */
  logger?: Logger
}

/**
 * Creates the console of an engine: a page to show, add and administer content in the browser, by the HTTP API alone.
 * Pass it to a handler, which then answers `<prefix>/console/`.
 *
 * It stores no credential and sets no cookie. Loading the page clears the cache and the storage of its origin. By plain
 * HTTP it works on loopback only.
 */
export function createConsole(engine: ConsoleEngine, options: ConsoleOptions = {}): ApiHandler {
  return consoleOf(consoleFiles, engine, options)
}

/** Creates a console from these files. They are prepared at the first request, and again after a failure. */
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
    // A service worker, even our own, would control its pages indefinitely.
    if (request.header('service-worker') !== undefined) return told(403, 'the console has no service worker')
    const found = await files()
    if (found === null) return told(500, 'the files of the console cannot be prepared: see the log')
    const file = found.get(request.path.slice('/console/'.length))
    if (file === undefined) return told(404, 'no such file of the console')
    const isPublished = published !== null && (isProxied(received) || request.header('host') === published.host)
    return answer(request, file, policyOf(request, isPublished ? published.pathname : prefix))
  }
}

/**
 * Builds the content security policy. It lists whole addresses, because `'self'` would include the uploads that this
 * origin serves.
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
    // Content of this origin, cached before it had a sandbox, would otherwise run without one.
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

/** Headers of the page's parts. The headers of the page itself decide what it may do. */
const PART_HEADERS = {
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const

/** Headers of a page. They cut its link to windows that open it, or that it opens. */
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

/** Only a proxy strips a path, so nothing was stripped from a direct request. */
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
