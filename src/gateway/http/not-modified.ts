import type { ApiResponse } from '../../http/api-messages.ts'

export function notModified(headers: Readonly<Record<string, string>>): ApiResponse {
  return { status: 304, headers, body: null }
}
