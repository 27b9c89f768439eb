/** Members of XMLHttpRequest. With this type, programs that import the client need no browser types. */
interface Sending {
  readonly upload: { onprogress: ((event: { loaded: number }) => void) | null }
  readonly status: number
  readonly statusText: string
  readonly response: ArrayBuffer | null
  responseType: 'arraybuffer'
  onload: (() => void) | null
  onerror: (() => void) | null
  onabort: (() => void) | null
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getAllResponseHeaders(): string
  send(body: Blob): void
  abort(): void
}

export interface ProgressRequest {
  method: string
  headers: Readonly<Record<string, string>>
  body: Blob
  signal: AbortSignal
  onProgress: (bytes: number) => void
}

const NO_BODY = new Set([204, 205, 304])

/** Returns null if the platform has no XMLHttpRequest, as in Node. */
export function progressFetch(): ((url: URL, request: ProgressRequest) => Promise<Response>) | null {
  const { XMLHttpRequest: Request } = globalThis as { XMLHttpRequest?: new () => Sending }
  return Request === undefined ? null : (url, request) => send(new Request(), url, request)
}

function send(sending: Sending, url: URL, { method, headers, body, signal, onProgress }: ProgressRequest) {
  return new Promise<Response>((resolve, reject) => {
    const abort = (): void => sending.abort()
    const ending = (end: () => void) => (): void => {
      signal.removeEventListener('abort', abort)
      end()
    }
    sending.open(method, url.href)
    sending.responseType = 'arraybuffer'
    for (const [name, value] of Object.entries(headers)) sending.setRequestHeader(name, value)
    sending.upload.onprogress = ({ loaded }) => onProgress(loaded)
    sending.onload = ending(() => resolve(responseOf(sending)))
    sending.onerror = ending(() => reject(new TypeError('the connection failed')))
    sending.onabort = ending(() => reject(signal.reason))
    signal.addEventListener('abort', abort)
    if (signal.aborted) return reject(signal.reason)
    sending.send(body)
  })
}

function responseOf(sending: Sending): Response {
  const { status, statusText } = sending
  const headers = new Headers()
  for (const line of sending.getAllResponseHeaders().split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  return new Response(NO_BODY.has(status) ? null : sending.response, { status, statusText, headers })
}
