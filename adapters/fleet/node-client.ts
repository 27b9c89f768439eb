import { HoldfastError } from '../../src/domain/errors.ts'
import { copied } from '../../src/domain/sources.ts'
import { httpAgent, watchedBody } from '../../src/outgoing/http-agent.ts'

/** A request that another node is to answer. */
export interface NodeRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  /** Bytes if all of it is known, else a stream; null without one. */
  body: Uint8Array | AsyncIterable<Uint8Array> | null
  signal: AbortSignal
}

/** How another node has answered. Whoever asked reads the body, or closes it. */
export interface NodeAnswer {
  status: number
  /** Lower-case names; those of the connection left out. */
  headers: Record<string, string>
  body: AsyncIterable<Uint8Array>
}

/** Asks the other nodes of a fleet. The caller closes it. */
export interface NodeClient {
  /**
   * Streams both ways. Redirects are not followed.
   *
   * @throws HoldfastError `UNAVAILABLE` where nothing was sent; `OUTCOME_UNKNOWN` where the answer was lost; what the
   * signal was aborted with
   */
  send(request: NodeRequest): Promise<NodeAnswer>
  close(): Promise<void>
}

const CONNECTIONS = 256
/** How long an answer may be waited for once all is sent: longer than a pin may be looked for. And between two parts. */
const ANSWER_TIMEOUT_MS = 600_000
/** They are of one connection, and not of what is answered. */
const OF_THE_CONNECTION = new Set([
  'connection',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** By which a connection fails before it is one. */
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
        value === undefined || OF_THE_CONNECTION.has(name) ? [] : [[name, [value].flat().join(', ')]],
      )
      return { status: answer.statusCode, headers: Object.fromEntries(headers), body: answer.body }
    } catch (cause) {
      rest.signal.throwIfAborted()
      if (failure !== null) throw (failure as { error: unknown }).error
      if (UNREACHED.has(codeOf(cause))) {
        throw new HoldfastError('UNAVAILABLE', 'the node that keeps this cannot be reached now', { cause })
      }
      throw new HoldfastError('OUTCOME_UNKNOWN', 'the node that keeps this has not answered: it may have done it', {
        cause,
      })
    }
  }
  return { send, close: agent.close }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
