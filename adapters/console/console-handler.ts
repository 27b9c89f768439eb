import { checkFields } from '../../src/domain/known-fields.ts'
import {
  type ApiHandler,
  type ApiRequest,
  type ApiResponse,
  asSentByClient,
  type Engine,
  type Logger,
  PROXY_HEADERS,
} from '../../src/index.ts'
import { type ConsoleFile, consoleFiles, PAGE_APART } from './console-files.ts'
import { CONSOLE } from './console-options.ts'
import { unsafeConnection } from './safe-connection.ts'

/** The part of an engine that the console needs. */
export type ConsoleEngine = Pick<Engine, 'trustedProxies' | 'documentsAt' | 'signInProvider'>

/** Options of the console. */
export interface ConsoleOptions {
  /**
   * Path before `/console/` in the browser's address, such as `/pinning`, even if the host program strips it from
   * requests.
   */
  prefix?: string
  /**
   * Public URL of a proxy that strips a path, such as `https://pins.example.org/storage`. Its path replaces `prefix` in
   * requests that came through a proxy or name this host.
   */
  publicUrl?: string
  /** Logs failures to read the files of the console. */
  logger?: Logger
}

/**
 * Creates the console of an engine: a page that administers content in the browser. Pass the result to a handler, which
 * then serves `<prefix>/console/`.
 *
 * The console uses only the HTTP API, and sets no cookie. If content has another origin (`Engine.documentsAt`), the tab
 * stores a credential that ends within a day, and the sign-in clears the cache of its origin. Otherwise nothing is
 * stored. Over plain HTTP, the console works only at a loopback address.
 * @example createServer(engine, { console: createConsole(engine) }).listen(8080)
 */
export function createConsole(engine: ConsoleEngine, options: ConsoleOptions = {}): ApiHandler {
  checkFields(options, CONSOLE, 'createConsole')
  return consoleOf(consoleFiles, engine, options)
}

/** Creates a console whose files `prepare` returns. Calls `prepare` at the first request, and again after a failure. */
export function consoleOf(
  prepare: () => Promise<ReadonlyMap<string, ConsoleFile>>,
  engine: ConsoleEngine,
  { prefix = '', publicUrl, logger }: ConsoleOptions,
): ApiHandler {
  const { trustedProxies } = engine
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
    // A service worker would control the pages of this origin indefinitely.
    if (request.header('service-worker') !== undefined) return told(403, 'the console has no service worker')
    const found = await files()
    if (found === null) return told(500, 'the files of the console cannot be prepared: see the log')
    const path = request.path.slice('/console/'.length)
    const gateway = engine.documentsAt(request)
    if (path === 'gateway' && gateway !== null) return told(200, gateway)
    if (path === 'provider' && engine.signInProvider !== null) return told(200, engine.signInProvider)
    if (path === 'cleared') return told(200, 'cleared', CLEARED)
    const file = found.get(path === '' && gateway !== null ? PAGE_APART : path)
    if (file === undefined) return told(404, 'no such file of the console')
    const isPublished = published !== null && (isProxied(received) || request.header('host') === published.host)
    return answer(request, file, policyOf(request, isPublished ? published.pathname : prefix, gateway))
  }
}

/**
 * Returns a policy with full URLs instead of `'self'`, because users' uploads are served from the same origin.
 *
 * @param gateway base URL of the gateway whose content the page shows in frames and as images
 */
function policyOf(request: ApiRequest, prefix: string, gateway: string | null): string {
  const mount = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix
  const origin = `${request.scheme === 'https' ? 'https' : 'http'}://${request.header('host')}${mount}`
  const own = `${origin}/console/`
  const content = gateway === null ? '' : ` ${gateway}/ipfs/`
  return [
    "default-src 'none'",
    `script-src ${own}`,
    `style-src ${own}`,
    // Private content, which the page has read with the credential, is an image at an address of its own.
    `img-src ${own} data: blob:${content}`,
    `connect-src ${origin}/api/v3/ ${origin}/admin/v1/ ${origin}/ipfs/ ${origin}/health ${own}${content}`,
    ...(gateway === null ? [] : [`frame-src${content}`]),
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

/** Removes cached pages of older versions, which run without a sandbox. The page asks for it before it stores anything. */
const CLEARED = { 'clear-site-data': '"cache"' } as const

/** Headers of scripts, styles and images. The page's own headers decide what the page may do. */
const PART_HEADERS = {
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const

/** Isolate the page's window from every window that opens it or that it opens. */
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
