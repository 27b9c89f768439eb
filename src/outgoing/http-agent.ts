import type { LookupFunction } from 'node:net'
import { type HttpResponse, withoutCoding } from './content-coding.ts'

export interface HttpAgentOptions {
  /** Maximum per origin. If absent, the caller bounds its requests. */
  connections?: number
  /** Maximum time until the response headers arrive, and between two chunks of the body. */
  timeoutMs: number
  lookup?: LookupFunction | undefined
}

/** The types of undici omit body types that undici accepts. */
interface RequestOptions {
  method: string
  headers: Readonly<Record<string, string>>
  body?: AsyncIterable<Uint8Array> | Uint8Array | string | null
  signal: AbortSignal
  /** True if the caller discards the body, which is then not decoded. */
  onlyStatus?: boolean
}

/** An HTTP client with its own pool of keep-alive connections. The caller must close the client. */
export interface HttpAgent {
  /**
   * Sends a request without following redirects. The request accepts no content coding, and the body has none. The caller
   * must read or destroy the body of the response.
   *
   * @throws the errors of undici, and those that `isCodingFailure` recognizes
   */
  request(url: string | URL, options: RequestOptions): Promise<HttpResponse>
  close(): Promise<void>
}

/**
 * Reports the error that a request body throws, because undici does not pass on that error.
 *
 * @param onFailure called before the reader of the body receives the error
 */
export async function* watchedBody(
  body: AsyncIterable<Uint8Array>,
  onFailure: (error: unknown) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body
  } catch (error) {
    onFailure(error)
    throw error
  }
}

const CONNECT_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 4_000

/** Loads undici at the first request, because most engines never send a request. */
export function httpAgent({ connections, timeoutMs, lookup }: HttpAgentOptions): HttpAgent {
  const load = async () => {
    const { Agent, request } = await import('undici')
    const dispatcher = new Agent({
      connections: connections ?? null,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: { timeout: CONNECT_TIMEOUT_MS, ...(lookup !== undefined && { lookup }) },
    })
    return { dispatcher, request }
  }
  let loaded: ReturnType<typeof load> | null = null
  return {
    request: async (url, { onlyStatus = false, ...options }) => {
      loaded ??= load()
      const { dispatcher, request } = await loaded
      const headers = { 'accept-encoding': 'identity', ...options.headers }
      const response = await request(url, { ...options, headers, dispatcher } as Parameters<typeof request<null>>[1])
      return withoutCoding(response, options.method === 'HEAD' || onlyStatus)
    },
    close: async () => {
      await (await loaded)?.dispatcher.destroy()
    },
  }
}

/** Returns whether a request failed because the server was too slow. */
export function isTimeout(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.endsWith('_TIMEOUT') || code === 'ETIMEDOUT'
}
