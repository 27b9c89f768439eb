import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { nextTurn, sharedTurn, turnSpent } from '../../src/concurrency/turns.ts'
import type { ApiResponse, BodyStream } from '../../src/index.ts'
import { deadline, IDLE_MS, idleTimeout } from './incoming-body.ts'

/** Limit for discarding an unneeded request body. Many clients read the response only after they have sent the body. */
const DRAIN_BYTES = 64 * 1024 * 1024
const DRAIN_IDLE_MS = 10_000
const DRAIN_MS = 120_000
/** Status of a request whose client disconnected. It occurs only in logs. */
const CLIENT_GONE = 499

/**
 * Sends a response with backpressure. If the request body has not arrived completely, discards the rest of it and
 * closes the connection. An earlier close could reset the connection before the client has read the response.
 *
 * @param invited false if the client waits for `100 Continue` and has sent no body
 * @param sent called with the number of bytes of each chunk of the response body
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
    sent(bytes.byteLength)
    if (!early) {
      // Costs less than `write` and `end`.
      outgoing.end(bytes)
      return
    }
    outgoing.write(bytes)
  } else if (bytes !== null) await pump(outgoing, bytes, sent)
  else outgoing.flushHeaders()
  if (early && invited()) await drain(incoming)
  outgoing.end()
}

async function pump(outgoing: ServerResponse, body: BodyStream, sent: (bytes: number) => void): Promise<void> {
  const restoreTimeout = idleTimeout(outgoing.socket, IDLE_MS)
  const writer = new BodyWriter(outgoing, body)
  body.onFail?.(() => outgoing.destroy())
  try {
    for await (const chunk of body) {
      if (outgoing.destroyed) {
        body.discard?.(chunk)
        return
      }
      sent(chunk.byteLength)
      writer.write(chunk)
      // Without the turn, one round of the loop would write a chunk to each connection of a crowd.
      if (outgoing.writableNeedDrain) await writable(outgoing).then(() => sharedTurn())
      else if (turnSpent()) await nextTurn()
    }
    writer.flush()
  } catch {
    // The status has already been sent, so only a closed connection shows that the body is incomplete.
    outgoing.destroy()
  } finally {
    restoreTimeout()
  }
}

/** Waits until the buffer of the socket is empty or the connection is closed. */
function writable(outgoing: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (outgoing.destroyed) resolve()
  const settle = (): void => {
    outgoing.off('drain', settle).off('close', settle)
    resolve()
  }
  outgoing.on('drain', settle).on('close', settle)
  return promise
}

function drain(incoming: IncomingMessage): Promise<void> {
  return new Promise(resolve => {
    let left = DRAIN_BYTES
    const idle = deadline(DRAIN_IDLE_MS, resolve)
    const late = deadline(DRAIN_MS, resolve)
    const finish = (): void => {
      idle.cancel()
      late.cancel()
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

/**
 * Chunks below the first size are joined, up to the second size. A write costs as much as copying some tens of
 * kilobytes.
 */
const SMALL_BYTES = 16 * 1024
const JOINED_BYTES = 64 * 1024

/** Joins small chunks until they are large enough to write, or until the next round of the event loop. */
class BodyWriter {
  readonly #outgoing: ServerResponse
  readonly #discard: (chunk: Uint8Array) => void
  readonly #socket: Socket | null
  #waiting: Uint8Array[] = []
  #bytes = 0
  #flushing: NodeJS.Immediate | null = null
  /** Chunks that a failed write left, until the socket is closed. */
  readonly #unsent: Uint8Array[] = []

  constructor(outgoing: ServerResponse, body: BodyStream) {
    this.#outgoing = outgoing
    this.#socket = outgoing.socket
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
      else this.#discardAtClose(chunk)
    })
  }

  /** Frees a chunk once the system can no longer read it. The collector would free it late in a thread without work. */
  #discardAtClose(chunk: Uint8Array): void {
    if (this.#socket === null || this.#socket.closed) {
      this.#discard(chunk)
      return
    }
    if (this.#unsent.push(chunk) > 1) return
    this.#socket.once('close', () => {
      for (const unsent of this.#unsent.splice(0)) this.#discard(unsent)
    })
  }
}
