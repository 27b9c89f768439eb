import type { Credential } from '../access/principal.ts'
import type { Logger } from '../domain/logger.ts'
import type { Metrics, RequestObservation } from '../domain/metrics.ts'
import { CLIENT_GONE } from './error-codes.ts'
import { publicError } from './error-response.ts'
import type { ApiRequest, ApiResponse } from './types.ts'

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
  metrics: Pick<Metrics, 'request'>
}

/**
 * Writes the one line that a request has in the log, and has it counted. Of what the client has sent the line has
 * method and path, never query, headers or body, where secrets may be.
 */
export function tellOf({ logger, metrics }: AccessLog, answered: Answered): void {
  const { surface, request, response, failure, credential, route, source, bytesIn, ms } = answered
  const { method, path } = request
  const { status } = response
  const code = failure === undefined || status === CLIENT_GONE ? null : publicError(failure).code
  metrics.request({ surface, method, route, status, code, source, bytesIn, ms })
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
    bytes: bytesOf(response),
    ms,
  }
  if (status >= 500) logger.error({ ...fields, err: failure }, 'request failed')
  else logger.info(fields, 'request')
}

/** Of the answer's body; null where that shows only when it is sent. */
function bytesOf({ headers, body }: ApiResponse): number | null {
  if (body === null) return 0
  if (typeof body === 'string') return Buffer.byteLength(body)
  if (body instanceof Uint8Array) return body.byteLength
  const length = headers['content-length']
  return length === undefined ? null : Number(length)
}
