import type { ServerResponse } from 'node:http'
import type { BodyStream } from '../../src/index.ts'

/** Chunks smaller than this are joined: each write costs as much as copying some tens of kilobytes. */
const SMALL_BYTES = 16 * 1024
const JOINED_BYTES = 64 * 1024

/**
 * Writes the chunks of a body. Small ones are joined, and go out once there are enough of them, or when the event loop
 * comes round: nothing waits for a chunk that is not there yet.
 */
export class BodyWriter {
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

  /** Writes what has been waiting. */
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
