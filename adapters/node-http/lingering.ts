import type { Duplex } from 'node:stream'
import { deadline } from './incoming-body.ts'

const LINGER_MS = 3_000
const LINGER_BYTES = 16 * 1024 * 1024

/**
 * Connections that are closing while their clients may still be sending (RFC 9112, section 9.6).
 *
 * Closing a socket with unread bytes resets the connection, and the client loses the response. The server therefore
 * closes its sending side first, then discards input until the client closes.
 */
export class Lingering {
  readonly #most: number
  readonly #sockets = new Set<Duplex>()

  constructor(most: number) {
    this.#most = most
  }

  /** Closes the sending side. Destroys the connection when its client has closed it or exceeds a limit. */
  close(socket: Duplex, bytes = ''): void {
    this.#sockets.add(socket)
    if (this.#sockets.size > this.#most) this.destroyOldest()
    const late = deadline(LINGER_MS, () => socket.destroy())
    socket.once('close', () => {
      late.cancel()
      this.#sockets.delete(socket)
    })
    let left = LINGER_BYTES
    // Without `data` listeners, the HTTP parser is detached from the socket.
    socket.removeAllListeners('data')
    socket.on('data', (chunk: Uint8Array) => {
      left -= chunk.byteLength
      if (left < 0) socket.destroy()
    })
    socket.end(bytes)
    socket.resume()
  }

  /** Destroys the connection whose client has had the most time to read its response. */
  destroyOldest(): void {
    const [oldest] = this.#sockets
    if (oldest === undefined) return
    this.#sockets.delete(oldest)
    oldest.destroy()
  }
}
