import type { ApiRequest, ApiResponse } from '../../http/api-messages.ts'
import { errorResponse, publicError, REASON_PHRASES } from '../../http/error-response.ts'
import { wantsHtml } from '../http/format.ts'
import { escapeHtml, htmlPage, PAGE_HEADERS } from './html.ts'

/** Returns an HTML page for a browser, and JSON for any other client. */
export function failureResponse(request: ApiRequest, thrown: unknown, requestId: string): ApiResponse {
  const error = publicError(thrown)
  const json = errorResponse(error, requestId)
  const headers: Record<string, string> = { ...json.headers, 'cache-control': 'no-store', vary: 'Accept' }
  if (error.code === 'RANGE_NOT_SATISFIABLE') headers['content-range'] = `bytes */${error.details.size}`
  if (!wantsHtml(request.header('accept'))) return { ...json, headers }
  const title = `${json.status} ${REASON_PHRASES[json.status] ?? error.code}`
  return {
    status: json.status,
    headers: { ...headers, ...PAGE_HEADERS },
    body: htmlPage(title, `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(error.message)}</p>`),
  }
}
