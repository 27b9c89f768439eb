import type { Credential } from '../access/principal.ts'
import type { Logger } from '../domain/logger.ts'
import type { Metrics, RequestObservation } from '../domain/metrics.ts'
import type { ApiRequest, ApiResponse } from './api-messages.ts'
import { CLIENT_GONE } from './error-codes.ts'
import { publicError } from './error-response.ts'
import { StreamBody } from './stream-body.ts'

/** A request that has been answered. */
export interface Answered extends Pick<RequestObservation, 'surface' | 'route' | 'source' | 'bytesIn' | 'ms'> {
  request: ApiRequest
  response: ApiResponse
  requestId: string
  /** What became an answer: thrown by whoever handled the request. */
  failure?: unknown
  /** Who has asked, as far as that was found out. */
  account: string | null
  credential: Credential | null
  /** What content it was about; undefined where that is not said. */
  cid?: string | undefined
}

/** Where requests are told of. */
export interface AccessLog {
  logger: Logger
  metrics: Pick<Metrics, 'request' | 'answered'>
}

/**
 * Has a request counted, and writes its one line in the log once the answer is over: a body that is made while it is
 * sent tells then what went out of it, whole or not. Of what the client has sent the line has method and path, never
 * query, headers or body, where secrets may be.
 *
 * @returns the answer that is to be sent
 */
export function tellOf({ logger, metrics }: AccessLog, answered: Answered): ApiResponse {
  const { surface, request, response, failure, credential, route, source, bytesIn, ms } = answered
  const { method, path } = request
  const { status, body } = response
  const code = failure === undefined || status === CLIENT_GONE ? null : publicError(failure).code
  metrics.request({ surface, method, route, status, code, source, bytesIn, ms })
  const write = (bytes: number): void => {
    metrics.answered?.(bytes)
    const fields = {
      surface,
      requestId: answered.requestId,
      client: request.remoteAddress ?? null,
      account: answered.account,
      key: credential?.kind === 'key' ? credential.id : null,
      source,
      method,
      route,
      path,
      ...(answered.cid !== undefined && { cid: answered.cid }),
      status,
      ...(code !== null && { code }),
      bytesIn,
      bytes,
      ms,
    }
    if (status >= 500) logger.error({ ...fields, err: failure }, 'request failed')
    else logger.info(fields, 'request')
  }
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) {
    write(body === null ? 0 : Buffer.byteLength(body))
    return response
  }
  const stream = body instanceof StreamBody ? body : StreamBody.of(body)
  stream.onEnd(write)
  return { ...response, body: stream }
}
