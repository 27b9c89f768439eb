import type { Credential } from '../access/principal.ts'
import { isOutage } from '../catalogue/outages.ts'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { FinishedWork, Metrics, RequestObservation } from '../domain/metrics.ts'
import type { ApiRequest, ApiResponse } from './api-messages.ts'
import { CLIENT_GONE } from './error-codes.ts'
import { publicError } from './error-response.ts'
import { StreamBody } from './stream-body.ts'

export interface Answered extends Pick<RequestObservation, 'surface' | 'route' | 'source' | 'bytesIn'> {
  request: ApiRequest
  response: ApiResponse
  requestId: string
  /** Ms since the epoch. */
  startedAt: number
  failure?: unknown
  /** Id of the caller's account; null without authentication. */
  account: string | null
  credential: Credential | null
  /** CID of the requested content, if known. */
  cid?: string | undefined
  /** Called with the number of sent bytes when the response has ended. */
  sent?: (bytes: number) => void
  /** Undefined unless the request is traced. */
  trace?: object | undefined
}

export interface AccessLog {
  logger: Logger
  metrics: Pick<Metrics, 'request' | 'answered' | 'finished'>
  clock: Clock
}

/**
 * Counts a request, and logs it when the response has ended. The line never contains the query, headers or body, which
 * may contain secrets.
 *
 * @returns the response to send, whose body may be wrapped
 */
export function logAnswer({ logger, metrics, clock }: AccessLog, answered: Answered): ApiResponse {
  const { surface, request, response, failure, credential, route, source, bytesIn, startedAt } = answered
  const ms = clock.now() - startedAt
  const { method, path } = request
  const { status, body } = response
  const code = failure === undefined || status === CLIENT_GONE ? null : publicError(failure).code
  metrics.request({ surface, method, route, status, code, source, bytesIn, ms })
  const write = (bytes: number): void => {
    metrics.answered?.(bytes)
    answered.sent?.(bytes)
    metrics.finished?.(finishedRequest(answered, { endedAt: clock.now(), code, bytes }))
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
    if (status >= 500 && !isOutage(failure)) logger.error({ ...fields, err: failure }, 'request failed')
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

function finishedRequest(
  { surface, request, response, requestId, startedAt, route, bytesIn, trace }: Answered,
  { endedAt, code, bytes }: Pick<FinishedWork, 'endedAt' | 'code'> & { bytes: number },
): FinishedWork {
  const { method, scheme } = request
  const [traceparent, tracestate] = [request.header('traceparent'), request.header('tracestate')]
  return {
    kind: 'request',
    startedAt,
    endedAt,
    code,
    facts: { surface, request_id: requestId, received_bytes: bytesIn, sent_bytes: bytes },
    request: { method, route, status: response.status, scheme, traceparent, tracestate },
    trace,
  }
}
