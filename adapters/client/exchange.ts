import { HoldfastError } from '../../src/domain/errors.ts'
import { IdleTimer } from './idle-timer.ts'
import { progressFetch } from './progress-fetch.ts'
import { brokenOff, unreachable } from './refusal.ts'
import { bodyBlob, bodyBytes, bodyLength, type RequestBody } from './request-body.ts'

export interface OutgoingRequest {
  method: string
  url: URL
  headers: Readonly<Record<string, string>>
  body?: RequestBody | undefined
  idleMs: number
  signal?: AbortSignal | undefined
}

/** A response, whose body the caller must read or discard. */
export interface Answer {
  response: Response
  /** Throws `UNAVAILABLE` if the body breaks off. If the caller stops reading early, the request ends. */
  bytes(): AsyncGenerator<Uint8Array, void>
  discard(): Promise<void>
}

/**
 * Sends a request. If the response arrives early, the rest of the request body may stay unsent.
 *
 * @throws HoldfastError `UNAVAILABLE` if the server cannot be reached or the connection breaks, `ABORTED` if `signal`
 * aborts; the body's own error if the body fails
 */
export async function exchange(send: typeof fetch, request: OutgoingRequest): Promise<Answer> {
  const { method, url, headers, body, idleMs, signal } = request
  const idle = new IdleTimer(idleMs)
  const ended = signal === undefined ? idle.signal : AbortSignal.any([idle.signal, signal])
  const failure: { ofBody?: unknown } = {}
  const wrong = (cause: unknown, otherwise: (cause: unknown) => HoldfastError): unknown => {
    if ('ofBody' in failure) return failure.ofBody
    if (signal?.aborted === true) return new HoldfastError('ABORTED', 'the request was aborted', { cause })
    return otherwise(idle.signal.aborted ? idle.signal.reason : cause)
  }
  let response: Response
  idle.start()
  try {
    const sent: Partial<FetchBody> =
      body === undefined ? {} : await fetchBody(body, idle, ended, error => Object.assign(failure, { ofBody: error }))
    const init = { method, ...sent, headers: { ...headers, ...sent.headers }, signal: ended }
    const tell = body?.onProgress
    response = await dispatch(send, url, init, tell && (bytes => moved(idle, tell, bytes)))
  } catch (cause) {
    const error = wrong(cause, error => unreachable(url, error))
    // A pending read of the body could restart the timer, which would keep the process alive.
    idle.abort()
    throw error
  }
  idle.stop()
  return {
    response,
    bytes: () => answerBytes(response, idle, body !== undefined, cause => wrong(cause, brokenOff)),
    discard: async () => {
      await response.body?.cancel().catch(() => undefined)
      idle.abort()
    },
  }
}

/**
 * Uses XMLHttpRequest for progress in a browser, because `fetch` reports none. Unlike `fetch` with `redirect:
 * 'manual'`, it follows redirects.
 */
function dispatch(
  send: typeof fetch,
  url: URL,
  init: Pick<OutgoingRequest, 'method' | 'headers'> & Partial<FetchBody> & { signal: AbortSignal },
  onProgress: ((bytes: number) => void) | undefined,
): Promise<Response> {
  const { body } = init
  const telling = body instanceof Blob && onProgress !== undefined ? progressFetch() : null
  if (telling === null || !(body instanceof Blob) || onProgress === undefined) {
    return send(url, { ...init, redirect: 'manual' })
  }
  return telling(url, { ...init, body, onProgress })
}

function moved(idle: IdleTimer, tell: (bytes: number) => void, bytes: number): void {
  idle.start()
  tell(bytes)
}

async function* answerBytes(
  { body }: Response,
  idle: IdleTimer,
  sendsBody: boolean,
  wrong: (cause: unknown) => unknown,
): AsyncGenerator<Uint8Array, void> {
  if (body === null) return idle.abort()
  const reader = body.getReader()
  let isOver = false
  try {
    for (;;) {
      // The timer runs only while a read is pending: the consumer may take any time between reads.
      idle.start()
      const { done, value } = await reader.read().finally(() => idle.stop())
      if (done) {
        isOver = true
        return
      }
      yield value
    }
  } catch (cause) {
    throw wrong(cause)
  } finally {
    if (!isOver) await reader.cancel().catch(() => undefined)
    if (!isOver || sendsBody) idle.abort()
  }
}

interface FetchBody {
  headers: Record<string, string>
  body: ReadableStream<Uint8Array> | Blob
  duplex?: 'half'
}

async function fetchBody(
  body: RequestBody,
  idle: IdleTimer,
  ended: AbortSignal,
  failed: (error: unknown) => void,
): Promise<FetchBody> {
  const headers: Record<string, string> = { 'content-type': body.type }
  if (!streamsBodies()) return { headers, body: await bodyBlob(body) }
  const length = bodyLength(body)
  if (length !== null) headers['content-length'] = String(length)
  const bytes = bodyBytes(body)
  // `fetch` does not cancel the body when the connection breaks. Ending the generator releases its source.
  ended.addEventListener('abort', () => void bytes.return().catch(() => undefined), { once: true })
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // Node's `fetch` keeps reading the body after an abort and discards the bytes.
        if (ended.aborted) return controller.error(ended.reason)
        idle.stop()
        try {
          const { done, value } = await bytes.next()
          if (done) controller.close()
          else controller.enqueue(value)
          idle.start()
        } catch (error) {
          failed(error)
          controller.error(error)
        }
      },
      async cancel() {
        await bytes.return()
      },
    },
    { highWaterMark: 0 },
  )
  return { headers, body: stream, duplex: 'half' }
}

let streaming: boolean | undefined

/** Returns false for browsers: they remove a `content-length` header, and stream bodies only over HTTP/2. */
function streamsBodies(): boolean {
  streaming ??= new Request('http://localhost', { method: 'POST', headers: { 'content-length': '1' } }).headers.has(
    'content-length',
  )
  return streaming
}
