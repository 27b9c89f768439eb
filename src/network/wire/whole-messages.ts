import type { AbortOptions, MessageStream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import { AbstractMessageStream } from '@libp2p/utils'

const LENGTH_BYTES = 2
const LONGEST_MESSAGE = LENGTH_BYTES + 0xffff
/** Shorter data is joined before it is sent. Each separate piece would cost a system call and a packet. */
const SHORT_BYTES = 16 * 1024
/** Maximum number of bytes that wait for the socket. A peer that reads more slowly than it asks is disconnected. */
const MOST_UNSENT_BYTES = 32 * 1024 * 1024
const spare: Buffer[] = []
const MOST_SPARE = 16

/**
 * Delivers only whole length-prefixed messages, because Noise copies every message that arrives in pieces.
 *
 * After {@link reuse}, the memory of a message is reused or freed as soon as the listener returns.
 */
export class WholeMessages extends AbstractMessageStream {
  readonly #connection: MessageStream
  #partial: Buffer | null = null
  #filled = 0
  #reuses = false

  constructor(connection: MessageStream) {
    super({
      log: connection.log,
      inactivityTimeout: connection.inactivityTimeout,
      maxReadBufferLength: connection.maxReadBufferLength,
      direction: connection.direction,
      maxWriteBufferLength: MOST_UNSENT_BYTES,
    })
    this.#connection = connection
    connection.maxWriteBufferLength = MOST_UNSENT_BYTES
    connection.addEventListener('message', ({ data }: StreamMessageEvent) => {
      for (const piece of data instanceof Uint8Array ? [data] : data) this.#take(piece)
    })
    connection.addEventListener('close', (event: StreamCloseEvent) => this.#closed(event))
    connection.addEventListener('drain', () => this.safeDispatchEvent('drain'))
    connection.addEventListener('remoteCloseWrite', () => this.onRemoteCloseWrite())
  }

  /** Starts to reuse memory. The listener must not use data after it has returned. */
  reuse(): void {
    this.#reuses = true
  }

  override sendData(data: Parameters<MessageStream['send']>[0]): { sentBytes: number; canSendMore: boolean } {
    const isShort = data.byteLength <= SHORT_BYTES
    const canSendMore = this.#connection.send(isShort ? data.subarray() : data)
    return { sentBytes: data.byteLength, canSendMore }
  }

  override sendReset(error: Error): void {
    this.#connection.abort(error)
  }

  override sendPause(): void {
    this.#connection.pause()
  }

  override sendResume(): void {
    this.#connection.resume()
  }

  override close(options?: AbortOptions): Promise<void> {
    return this.#connection.close(options)
  }

  #closed({ error, local }: StreamCloseEvent): void {
    if (error === undefined || error === null) this.onTransportClosed()
    else if (local) this.abort(error)
    else this.onRemoteReset()
  }

  #take(chunk: Uint8Array): void {
    let rest = this.#partial === null ? chunk : this.#complete(this.#partial, chunk)
    const end = endOfWhole(rest)
    if (end > 0) this.onData(rest.subarray(0, end))
    rest = rest.subarray(end)
    if (rest.length > 0) this.#begin(rest)
    if (this.#reuses && this.readBufferLength === 0) free(chunk)
  }

  #begin(rest: Uint8Array): void {
    const isShort = rest.length >= LENGTH_BYTES && lengthAt(rest, 0) + LENGTH_BYTES <= SHORT_BYTES
    const bytes = isShort ? lengthAt(rest, 0) + LENGTH_BYTES : LONGEST_MESSAGE
    this.#partial = spare.pop() ?? Buffer.allocUnsafeSlow(bytes)
    this.#partial.set(rest)
    this.#filled = rest.length
  }

  /** Returns the remaining bytes of the chunk. */
  #complete(partial: Buffer, chunk: Uint8Array): Uint8Array {
    let rest = chunk
    const take = (upTo: number): void => {
      const taken = rest.subarray(0, Math.max(0, upTo - this.#filled))
      partial.set(taken, this.#filled)
      this.#filled += taken.length
      rest = rest.subarray(taken.length)
    }
    take(LENGTH_BYTES)
    if (this.#filled < LENGTH_BYTES) return rest
    const end = lengthAt(partial, 0) + LENGTH_BYTES
    take(end)
    if (this.#filled < end) return rest
    this.#partial = null
    this.onData(partial.subarray(0, end))
    const isFree = this.#reuses && this.readBufferLength === 0
    if (isFree && partial.length === LONGEST_MESSAGE && spare.length < MOST_SPARE) spare.push(partial)
    return rest
  }
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

/** Returns the offset after the last whole message. */
function endOfWhole(bytes: Uint8Array): number {
  let end = 0
  while (end + LENGTH_BYTES <= bytes.length) {
    const next = end + LENGTH_BYTES + lengthAt(bytes, end)
    if (next > bytes.length) break
    end = next
  }
  return end
}

/** Has no effect if the chunk shares its buffer. */
function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength && byteLength >= SHORT_BYTES) buffer.transfer(0)
}
