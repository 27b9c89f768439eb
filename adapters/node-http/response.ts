import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { nextTurn, turnSpent } from '../../src/concurrency/turns.ts'
import type { ApiResponse, BodyStream } from '../../src/index.ts'
import { IDLE_MS } from './incoming-body.ts'

/** Most bytes of an unwanted body to read, so that its sender can read the answer. */
const DRAIN_BYTES = 64 * 1024 * 1024
const DRAIN_IDLE_MS = 10_000
const DRAIN_MS = 120_000
/** Status for logs of a client that went away; never sent. */
const CLIENT_GONE = 499

/**
 * Sends an answer with backpressure. If the request's body is still arriving, the answer goes out at once, the rest of
 * the body is discarded, and the connection closes. An earlier close would reset the connection before the client has
 * read the answer. With `invited` false no body follows. `sent` counts the bytes of the body.
 */
export async function sendResponse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: ApiResponse,
  invited: () => boolean,
  sent: (bytes: number) => void = () => {},
): Promise<void> {
  if (outgoing.destroyed || response.status === CLIENT_GONE) {
    outgoing.destroy()
    await closeBody(response)
    return
  }
  const { body } = response
  const early = !incoming.complete
  if (early) outgoing.setHeader('connection', 'close')
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (bytes instanceof Uint8Array) outgoing.setHeader('content-length', bytes.byteLength)
  outgoing.writeHead(response.status, response.headers)
  if (bytes instanceof Uint8Array) {
    outgoing.write(bytes)
    sent(bytes.byteLength)
  } else if (bytes !== null) await pump(outgoing, bytes, sent)
  else outgoing.flushHeaders()
  if (early && invited()) await drain(incoming)
  outgoing.end()
}

async function pump(outgoing: ServerResponse, body: BodyStream, sent: (bytes: number) => void): Promise<void> {
  const { socket } = outgoing
  const timeout = socket?.timeout ?? 0
  socket?.setTimeout(IDLE_MS)
  const writer = new BodyWriter(outgoing, body)
  try {
    for await (const chunk of body) {
      if (outgoing.destroyed) return
      sent(chunk.byteLength)
      writer.write(chunk)
      if (outgoing.writableNeedDrain) await writable(outgoing)
      else if (turnSpent()) await nextTurn()
    }
    writer.flush()
  } catch {
    // The status is out already, so only a cut connection can show that the body is incomplete.
    outgoing.destroy()
  } finally {
    socket?.setTimeout(timeout)
  }
}

async function writable(outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed) return
  const settled = new AbortController()
  const { signal } = settled
  await Promise.race([once(outgoing, 'drain', { signal }), once(outgoing, 'close', { signal })]).catch(() => {})
  settled.abort()
}

/** Discards the rest of a body, up to a limit. */
function drain(incoming: IncomingMessage): Promise<void> {
  return new Promise(resolve => {
    let left = DRAIN_BYTES
    const idle = setTimeout(resolve, DRAIN_IDLE_MS).unref()
    const late = setTimeout(resolve, DRAIN_MS).unref()
    const finish = (): void => {
      clearTimeout(idle)
      clearTimeout(late)
      resolve()
    }
    incoming.on('end', finish)
    incoming.on('close', finish)
    incoming.on('data', (chunk: Uint8Array) => {
      left -= chunk.length
      if (left < 0) finish()
      else idle.refresh()
    })
    incoming.resume()
    if (incoming.destroyed || incoming.readableEnded) finish()
  })
}

async function closeBody({ body }: ApiResponse): Promise<void> {
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) return
  await body[Symbol.asyncIterator]().return?.()
}

/** Joins smaller chunks: each write costs as much as copying some tens of kilobytes. */
const SMALL_BYTES = 16 * 1024
const JOINED_BYTES = 64 * 1024

/**
 * Writes the chunks of a body. Small ones are joined, and go out when there are enough, or in the next round of the
 * event loop. No chunk waits for a later one.
 */
class BodyWriter {
  readonly #outgoing: ServerResponse
  readonly #discard: (chunk: Uint8Array) => void
  #waiting: Uint8Array[] = []
  #bytes = 0
  #flushing: NodeJS.Immediate | null = null

  constructor(outgoing: ServerResponse, body: BodyStream) {
    this.#outgoing = outgoing
    this.#discard = chunk => body.discard?.(chunk)
  }

  write(chunk: Uint8Array): void {
    if (chunk.byteLength === 0) return
    if (chunk.byteLength >= SMALL_BYTES) {
      this.flush()
      this.#send(chunk)
      return
    }
    this.#waiting.push(chunk)
    this.#bytes += chunk.byteLength
    if (this.#bytes >= JOINED_BYTES) this.flush()
    else this.#flushing ??= setImmediate(() => this.flush())
  }

  /** Writes the joined chunks. */
  flush(): void {
    if (this.#flushing !== null) clearImmediate(this.#flushing)
    this.#flushing = null
    const waiting = this.#waiting
    this.#waiting = []
    this.#bytes = 0
    const [first] = waiting
    if (first === undefined || this.#outgoing.destroyed) return
    if (waiting.length === 1) {
      this.#send(first)
      return
    }
    this.#outgoing.write(Buffer.concat(waiting))
    for (const chunk of waiting) this.#discard(chunk)
  }

  #send(chunk: Uint8Array): void {
    this.#outgoing.write(chunk, error => {
      if (error === undefined || error === null) this.#discard(chunk)
    })
  }
}
