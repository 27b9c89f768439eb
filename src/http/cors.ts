import type { ApiRequest, ApiResponse } from './api-messages.ts'

const EXPOSED = 'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Request-Id, Allow'
const ALLOWED_HEADERS = 'Authorization, X-API-Key, X-Request-Source, X-Cluster, Content-Type, Accept'
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, DELETE, OPTIONS'
const PREFLIGHT_SECONDS = 86_400

/** Pages of any origin may read responses, because credentials are sent in headers and never in cookies. */
export const apiCorsHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED,
}

/** Answers the OPTIONS request that browsers send before a request with a credential header. */
export function preflightResponse(request: ApiRequest): ApiResponse {
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': ALLOWED_METHODS,
      'access-control-allow-headers': request.header('access-control-request-headers') ?? ALLOWED_HEADERS,
      'access-control-max-age': String(PREFLIGHT_SECONDS),
      allow: ALLOWED_METHODS,
      vary: 'Access-Control-Request-Headers',
    },
    body: null,
  }
}
