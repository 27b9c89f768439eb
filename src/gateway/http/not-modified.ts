import type { ApiResponse } from '../../http/api-messages.ts'

/** The answer to a client that has the representation already. */
export function notModified(headers: Readonly<Record<string, string>>): ApiResponse {
  return { status: 304, headers, body: null }
}
