import type { LookupFunction } from 'node:net'
import type { Dispatcher } from 'undici'

export interface HttpAgentOptions {
  /** Connections per origin. */
  connections: number
  /** Timeout for the headers after the request is sent, and between two chunks of the body, in ms. */
  timeoutMs: number
  /** Replaces the system's name lookup. */
  lookup?: LookupFunction | undefined
}

/** Request options of undici. Its own types allow fewer bodies than it accepts. */
interface RequestOptions {
  method: string
  headers: Readonly<Record<string, string>>
  body?: AsyncIterable<Uint8Array> | Uint8Array | string | null
  signal: AbortSignal
}

/** An HTTP client with its own connections, kept alive for a while. The caller closes it. */
export interface HttpAgent {
  /**
   * Sends a request. Does not follow redirects. The caller must read or destroy the body of the answer.
   *
   * @throws errors of undici
   */
  request(url: string | URL, options: RequestOptions): Promise<Dispatcher.ResponseData>
  /** Aborts all open requests. */
  close(): Promise<void>
}

/**
 * Wraps a request body and reports the error that it throws, which undici does not pass on.
 *
 * @param onFailure called before the reader gets the error
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

/** Creates an agent. Undici is loaded at the first request, because most engines never send one. */
export function httpAgent({ connections, timeoutMs, lookup }: HttpAgentOptions): HttpAgent {
  const load = async () => {
    const { Agent, request } = await import('undici')
    const dispatcher = new Agent({
      connections,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: { timeout: CONNECT_TIMEOUT_MS, ...(lookup !== undefined && { lookup }) },
    })
    return { dispatcher, request }
  }
  let loaded: ReturnType<typeof load> | null = null
  return {
    request: async (url, options) => {
      loaded ??= load()
      const { dispatcher, request } = await loaded
      return request(url, { ...options, dispatcher } as Parameters<typeof request<null>>[1])
    },
    close: async () => {
      await (await loaded)?.dispatcher.destroy()
    },
  }
}
