import type { ApiHandler, ApiResponse } from '../../http/api-messages.ts'
import { PSA_PATH } from './psa-pins.ts'

/** Converts errors of the pinning service API to the shape of its specification: `{error: {reason, details}}`. */
export function withPsaErrors(api: ApiHandler): ApiHandler {
  return async request => {
    const response = await api(request)
    const isOurs = request.path === PSA_PATH || request.path.startsWith(`${PSA_PATH}/`)
    return isOurs && response.status >= 400 ? reshaped(response) : response
  }
}

function reshaped(response: ApiResponse): ApiResponse {
  if (typeof response.body !== 'string') return response
  const { code, message } = JSON.parse(response.body) as { code: string; message: string }
  const body = JSON.stringify({ error: { reason: code.toUpperCase(), details: message } })
  return { ...response, body, headers: { ...response.headers, 'content-length': String(Buffer.byteLength(body)) } }
}
