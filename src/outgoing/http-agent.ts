import type { LookupFunction } from 'node:net'
import type { Dispatcher } from 'undici'

export interface HttpAgentOptions {
  /** To one origin at a time. */
  connections: number
  /** How long the head of an answer may take once all is sent, and how long go by between two parts of its body. */
  timeoutMs: number
  /** How names are looked up, in place of the system's way. */
  lookup?: LookupFunction | undefined
}

/** As undici takes them, whose types know fewer bodies than it does. */
interface RequestOptions {
  method: string
  headers: Readonly<Record<string, string>>
  body?: AsyncIterable<Uint8Array> | Uint8Array | string | null
  signal: AbortSignal
}

/** Requests over connections of its own, which are kept for a while. The caller closes it. */
export interface HttpAgent {
  /** Follows no redirect. The body of the answer has to be read, or destroyed. @throws what undici does */
  request(url: string | URL, options: RequestOptions): Promise<Dispatcher.ResponseData>
  /** Ends what is under way. */
  close(): Promise<void>
}

/**
 * A body that tells what it has thrown: why a request's body ended is more than that it did.
 *
 * @param onFailure called before whoever reads it is told
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

/** Undici is loaded with the first request: most engines never send one. */
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
