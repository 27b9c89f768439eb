import type { ApiResponse } from '../../http/api-messages.ts'

/** Returns the answer to a client that has the current representation. */
export function notModified(headers: Readonly<Record<string, string>>): ApiResponse {
  return { status: 304, headers, body: null }
}
