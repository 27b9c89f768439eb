import type { ApiResponse } from '../../http/api-messages.ts'
import { PSA_PATH } from './psa-pins.ts'

/** Converts errors below {@link PSA_PATH} to the format of the Pinning Service API, `{error: {reason, details}}`. */
export function psaError(path: string, response: ApiResponse): ApiResponse {
  const isOurs = path === PSA_PATH || path.startsWith(`${PSA_PATH}/`)
  if (!isOurs || typeof response.body !== 'string') return response
  const { code, message } = JSON.parse(response.body) as { code: string; message: string }
  const body = JSON.stringify({ error: { reason: code.toUpperCase(), details: message } })
  return { ...response, body }
}
