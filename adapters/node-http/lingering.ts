import type { Duplex } from 'node:stream'

/** Limits of what a client may still send after its answer: milliseconds and bytes. */
const LINGER_MS = 3_000
const LINGER_BYTES = 16 * 1024 * 1024

/**
 * Answered connections whose clients may still be sending (RFC 9112, section 9.6). Closing a socket over unread bytes
 * resets the connection, and the client loses the answer. So this side ends first, then discards input until the client
 * ends, too.
 */
export class Lingering {
  readonly #most: number
  readonly #sockets = new Set<Duplex>()

  constructor(most: number) {
    this.#most = most
  }

  /** Sends these bytes, ends a connection, and destroys it once its client has ended or exceeds the limits. */
  close(socket: Duplex, bytes = ''): void {
    this.#sockets.add(socket)
    if (this.#sockets.size > this.#most) this.destroyOldest()
    const late = setTimeout(() => socket.destroy(), LINGER_MS).unref()
    socket.once('close', () => {
      clearTimeout(late)
      this.#sockets.delete(socket)
    })
    let left = LINGER_BYTES
    // Detaches the HTTP parser.
    socket.removeAllListeners('data')
    socket.on('data', (chunk: Uint8Array) => {
      left -= chunk.byteLength
      if (left < 0) socket.destroy()
    })
    socket.end(bytes)
    socket.resume()
  }

  /** Makes room: the oldest has had the most time to read its answer. */
  destroyOldest(): void {
    const [oldest] = this.#sockets
    if (oldest === undefined) return
    this.#sockets.delete(oldest)
    oldest.destroy()
  }
}
