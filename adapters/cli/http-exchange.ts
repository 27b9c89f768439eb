import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { HoldfastError } from '../../src/domain/errors.ts'

/** A body whose length is known before it is sent. */
export interface RequestBody {
  type: string
  /** Bytes. */
  length: number
  /** The bytes from the first on; may be called again to send them again. */
  open(): AsyncIterable<Uint8Array>
}

export interface OutgoingRequest {
  method: string
  url: URL
  headers: Readonly<Record<string, string>>
  body?: RequestBody
  /** How long the server may be silent, in milliseconds. */
  idleMs: number
}

/** Bodies from here on are sent only once the server has agreed to them. */
const INVITED_BYTES = 256 * 1024
/** A server that knows nothing of invitations is sent the body after this. */
const INVITATION_MS = 2_000

/**
 * Sends a request, its body streamed, and resolves with the answer, whose body the caller reads to its end. An answer
 * may come before the body has been sent; what is left of it is then not sent.
 *
 * @throws HoldfastError `UNAVAILABLE` if the server cannot be reached or goes away; what the body throws.
 */
export function exchange({ method, url, headers, body, idleMs }: OutgoingRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { request: open } = url.protocol === 'https:' ? https : http
    const invited = body !== undefined && body.length >= INVITED_BYTES
    const request = open(url, {
      method,
      headers: {
        ...headers,
        ...(body && { 'content-type': body.type, 'content-length': body.length }),
        ...(invited && { expect: '100-continue' }),
      },
    })
    const sending = new AbortController()
    request.setTimeout(idleMs, () => request.destroy(new Error(`no sign of life for ${idleMs / 1_000} seconds`)))
    request.once('response', response => {
      response.once('close', () => {
        sending.abort()
        if (!request.writableEnded) request.destroy()
      })
      resolve(response)
    })
    request.once('error', cause => reject(unreachable(url, cause)))
    if (body === undefined) return request.end()
    let begun = false
    const send = (): void => {
      if (begun) return
      begun = true
      const source = Readable.from(body.open(), { objectMode: false })
      // What the source throws is told as it is; what breaks at the other end comes as the request's own error.
      source.once('error', reject)
      pipeline(source, request, { signal: sending.signal }).catch(() => undefined)
    }
    if (!invited) return send()
    request.flushHeaders()
    const impatient = setTimeout(send, INVITATION_MS)
    request.once('continue', send)
    request.once('response', () => clearTimeout(impatient)).once('close', () => clearTimeout(impatient))
  })
}

function unreachable({ origin, pathname }: URL, cause: Error): HoldfastError {
  const { code = '' } = cause as NodeJS.ErrnoException
  const message =
    code === 'ECONNREFUSED'
      ? `nothing listens at ${origin}: is the server running?`
      : `no answer from ${origin}${pathname}: ${cause.message || code}`
  return new HoldfastError('UNAVAILABLE', message, { cause })
}
