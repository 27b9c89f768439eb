/** An error as the TypeScript and JavaScript clients throw it. */
export class SdkError extends Error {
  readonly status: number
  readonly code: unknown
  readonly required: unknown
  readonly retryAfter: unknown

  constructor(status: number, body: Record<string, unknown>, header: string | null) {
    super(String(body.message ?? body.error))
    this.status = status
    this.code = body.code
    this.required = body.required
    this.retryAfter = body.retryAfter ?? (header === null ? undefined : Number.parseInt(header, 10))
  }
}

export interface SdkOptions {
  json?: unknown
  form?: FormData
  /** Sends `X-Request-Source: web`, as clients with a session do. */
  web?: boolean
}

/**
 * Returns a function that calls the API as the TypeScript and JavaScript clients do, with `fetch` and a Bearer
 * credential.
 * It returns nothing for a 204 or an empty body, and throws for any answer whose type is not JSON.
 */
export function sdk(base: string, credential: string | null) {
  return async (method: string, path: string, { json, form, web }: SdkOptions = {}) => {
    const headers: Record<string, string> = {}
    if (credential !== null) headers.Authorization = `Bearer ${credential}`
    if (web === true) headers['X-Request-Source'] = 'web'
    if (json !== undefined) headers['Content-Type'] = 'application/json'
    const body = form ?? (json === undefined ? undefined : JSON.stringify(json))
    const init: RequestInit = body === undefined ? { method, headers } : { method, headers, body }
    return readAsSdk(await fetch(base.replace(/\/$/, '') + path, init))
  }
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is looked at, not typed
async function readAsSdk(response: Response): Promise<any> {
  if (response.status === 204 || response.headers.get('content-length') === '0') return undefined
  const isJson = response.headers.get('content-type')?.includes('application/json') === true
  if (!isJson) throw new TypeError(`an answer without a JSON type: ${response.status}`)
  const body = (await response.json()) as Record<string, unknown>
  if (!response.ok) throw new SdkError(response.status, body, response.headers.get('retry-after'))
  return body
}
