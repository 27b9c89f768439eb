import { HoldfastError } from '../../src/domain/errors.ts'
import { copied } from '../../src/domain/sources.ts'
import { httpAgent, watchedBody } from '../../src/outgoing/http-agent.ts'

export interface NodeRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  /** Bytes if the whole body is known, or a stream. Null if the request has no body. */
  body: Uint8Array | AsyncIterable<Uint8Array> | null
  signal: AbortSignal
}

/** The caller reads or closes the body. */
export interface NodeAnswer {
  status: number
  /** Headers by lower-case name, without those that concern only the connection. */
  headers: Record<string, string>
  body: AsyncIterable<Uint8Array>
}

/** The caller closes the client. */
export interface NodeClient {
  /**
   * Sends a request, and streams both bodies. Does not follow redirects.
   * @throws HoldfastError `UNAVAILABLE` if the request was not sent; `OUTCOME_UNKNOWN` if the answer was lost; the
   * signal's reason if the signal aborts
   */
  send(request: NodeRequest): Promise<NodeAnswer>
  close(): Promise<void>
}

const CONNECTIONS = 256
/**
 * Timeout in ms for the headers of an answer, and between two chunks of its body. Exceeds the longest search for a
 * pin's content.
 */
const ANSWER_TIMEOUT_MS = 600_000
/** Not forwarded, because they concern only one connection. */
const CONNECTION_HEADERS = new Set([
  'connection',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Error codes of a connection that was never established. */
const UNREACHED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

export function openNodeClient(): NodeClient {
  const agent = httpAgent({ connections: CONNECTIONS, timeoutMs: ANSWER_TIMEOUT_MS })
  const send = async ({ url, body, ...rest }: NodeRequest): Promise<NodeAnswer> => {
    let failure: { error: unknown } | null = null
    const source =
      body === null || body instanceof Uint8Array
        ? body
        : watchedBody(copied(body), error => {
            failure = { error }
          })
    try {
      const answer = await agent.request(url, { ...rest, body: source })
      const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
        value === undefined || CONNECTION_HEADERS.has(name) ? [] : [[name, [value].flat().join(', ')]],
      )
      return { status: answer.statusCode, headers: Object.fromEntries(headers), body: answer.body }
    } catch (cause) {
      rest.signal.throwIfAborted()
      if (failure !== null) throw (failure as { error: unknown }).error
      if (UNREACHED.has(codeOf(cause))) {
        throw new HoldfastError('UNAVAILABLE', 'the responsible node cannot be reached', { cause })
      }
      throw new HoldfastError('OUTCOME_UNKNOWN', 'the responsible node did not answer: it may have made the change', {
        cause,
      })
    }
  }
  return { send, close: agent.close }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
