import type { ApiResponse } from '../../http/api-messages.ts'

/** Returns a 304 response, for a client that already has the current representation. */
export function notModified(headers: Readonly<Record<string, string>>): ApiResponse {
  return { status: 304, headers, body: null }
}
