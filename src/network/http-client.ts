import { Readable } from 'node:stream'
import { Agent, request } from 'undici'
import { HoldfastError, isHoldfastError } from '../domain/errors.ts'

/** A request over HTTP. */
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
}

/**
 * Sends a request. Redirects are not followed: the key that goes along is for one place.
 *
 * @throws HoldfastError `UNAVAILABLE` without an answer; what the signal was aborted with, and what the body throws
 */
export type SendHttp = (request: HttpRequest) => Promise<HttpAnswer>

/** A client of other nodes. The caller closes it. */
export interface HttpClient {
  send: SendHttp
  close(): Promise<void>
}

const CONNECTIONS = 16
const CONNECT_TIMEOUT_MS = 5_000
/** How long an answer may be waited for, and between two parts of it. */
const ANSWER_TIMEOUT_MS = 120_000
const LONGEST_ANSWER = 4 * 1024 * 1024

export function openHttpClient(): HttpClient {
  const dispatcher = new Agent({
    connections: CONNECTIONS,
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: ANSWER_TIMEOUT_MS,
    keepAliveTimeout: 4_000,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  })
  const send: SendHttp = async ({ url, body, ...rest }) => {
    try {
      const stream = body === undefined || typeof body === 'string' ? (body ?? null) : Readable.from(body)
      const answer = await request(url, { ...rest, body: stream, dispatcher })
      const parts: Uint8Array[] = []
      let length = 0
      for await (const part of answer.body as AsyncIterable<Uint8Array>) {
        length += part.length
        // Leaving the loop ends the connection.
        if (length > LONGEST_ANSWER) break
        parts.push(part)
      }
      return { status: answer.statusCode, text: Buffer.concat(parts).toString('utf8') }
    } catch (cause) {
      rest.signal.throwIfAborted()
      if (isHoldfastError(cause)) throw cause
      throw new HoldfastError('UNAVAILABLE', 'the node of the cluster could not be reached', { cause })
    }
  }
  return { send, close: () => dispatcher.destroy() }
}
