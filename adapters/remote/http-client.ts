import { Readable } from 'node:stream'
import { HoldfastError } from '../../src/domain/errors.ts'
import { wholeUpTo } from '../../src/domain/sources.ts'
import { httpAgent, watchedBody } from '../../src/outgoing/http-agent.ts'

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  headers: Readonly<Record<string, string>>
  body?: AsyncIterable<Uint8Array> | string
  signal: AbortSignal
}

export interface HttpAnswer {
  status: number
  text: string
  /** Trailers of the answer, by lower-case name. */
  trailers?: Readonly<Record<string, string>>
}

/** If the caller stops reading early, the connection closes. */
export interface HttpStream {
  status: number
  body: AsyncIterable<Uint8Array>
  /** Returns an empty object before the end of the body. */
  trailers(): Readonly<Record<string, string>>
}

/**
 * Sends a request and reads the whole answer. Follows no redirects, because the request contains credentials.
 * @throws HoldfastError `UNAVAILABLE` if no answer arrives or the answer is too large; the reason of an abort; errors
 * of the request's body
 */
export type SendHttp = (request: HttpRequest) => Promise<HttpAnswer>

/**
 * Sends a request whose answer is streamed. Reading the answer's body throws the same errors.
 * @throws HoldfastError `UNAVAILABLE` if no answer arrives; the reason of an abort; errors of the request's body
 */
export type StreamHttp = (request: HttpRequest) => Promise<HttpStream>

/** The caller closes the client. */
export interface HttpClient {
  send: SendHttp
  stream: StreamHttp
  close(): Promise<void>
}

const CONNECTIONS = 16
/** Timeout in ms for the start of an answer, and between two parts of the answer. */
const ANSWER_TIMEOUT_MS = 120_000
const LONGEST_ANSWER = 4 * 1024 * 1024

export function openHttpClient(): HttpClient {
  const agent = httpAgent({ connections: CONNECTIONS, timeoutMs: ANSWER_TIMEOUT_MS })
  const stream: StreamHttp = async ({ url, body, ...rest }) => {
    let failure: { error: unknown } | null = null
    const failed = (cause: unknown): never => {
      rest.signal.throwIfAborted()
      if (failure !== null) throw failure.error
      throw new HoldfastError('UNAVAILABLE', 'cannot reach the node of the cluster', { cause })
    }
    try {
      const keep = (error: unknown): void => {
        failure = { error }
      }
      const sent =
        body === undefined || typeof body === 'string' ? (body ?? null) : Readable.from(watchedBody(body, keep))
      const answer = await agent.request(url, { ...rest, body: sent })
      const read = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
        try {
          yield* answer.body as AsyncIterable<Uint8Array>
        } catch (cause) {
          failed(cause)
        }
      }
      return { status: answer.statusCode, body: read(), trailers: () => answer.trailers as Record<string, string> }
    } catch (cause) {
      return failed(cause)
    }
  }
  const send: SendHttp = async asked => {
    const { status, body, trailers } = await stream(asked)
    const whole = await wholeUpTo(body, LONGEST_ANSWER)
    if (whole === null)
      throw new HoldfastError('UNAVAILABLE', `the node of the cluster answered more than ${LONGEST_ANSWER} bytes`)
    return { status, text: whole.toString('utf8'), trailers: trailers() }
  }
  return { send, stream, close: agent.close }
}
