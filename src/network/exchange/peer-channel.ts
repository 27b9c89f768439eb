import type { Stream } from '@libp2p/interface'
import { within } from '../../concurrency/deadline.ts'
import type { Clock } from '../../domain/clock.ts'
import { type ExchangeMessage, encodeMessage } from './message.ts'

/** Time after which a send fails if the peer accepts no data. */
const SEND_TIMEOUT_MS = 20_000
/** Other implementations drop a stream after 10 s without data, and lose a message sent at that moment. */
const IDLE_MS = 4_000

export type OpenStream = (signal: AbortSignal) => Promise<Stream>

/** Sends messages to one peer, in order. Reuses the stream for a while, because each new stream costs a round trip. */
export class PeerChannel {
  readonly #open: OpenStream
  readonly #clock: Clock
  #stream: Stream | null = null
  #sending: Promise<void> = Promise.resolve()
  #closed = false
  #cancelIdle: (() => void) | null = null

  constructor(open: OpenStream, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  /** Resolves when the stream has accepted the message. Rejects if the peer is unreachable. */
  send(message: ExchangeMessage): Promise<void> {
    const sent = this.#sending.then(() => this.#write(encodeMessage(message)))
    this.#sending = sent.catch(() => undefined)
    return sent
  }

  close(): void {
    this.#closed = true
    this.#cancelIdle?.()
    const stream = this.#stream
    this.#stream = null
    stream?.abort(new Error('the exchange ends'))
  }

  async #write(pieces: Uint8Array[]): Promise<void> {
    this.#cancelIdle?.()
    try {
      const stream = await this.#ready()
      for (const piece of pieces) {
        stream.send(piece)
        await this.#drained(stream)
      }
    } catch (error) {
      this.#stream?.abort(error instanceof Error ? error : new Error(String(error)))
      this.#stream = null
      throw error
    }
    if (!this.#closed) this.#cancelIdle = this.#clock.after(IDLE_MS, () => this.#rest())
  }

  /**
   * Replaces the stream's own `onDrain`, which resolves immediately from its second call on. Data for a slow peer would
   * pile up.
   */
  #drained(stream: Stream): Promise<void> {
    if (stream.writeBufferLength === 0) return Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let cancelTimer: (() => void) | undefined
    const wait = (): void => {
      cancelTimer?.()
      cancelTimer = this.#clock.after(SEND_TIMEOUT_MS, () => reject(new Error('the peer accepts no data')))
    }
    const closed = (): void => reject(new Error('the peer closed the stream'))
    const idle = (): void => resolve()
    wait()
    stream.addEventListener('drain', wait)
    stream.addEventListener('idle', idle)
    stream.addEventListener('close', closed)
    return promise.finally(() => {
      cancelTimer?.()
      stream.removeEventListener('drain', wait)
      stream.removeEventListener('idle', idle)
      stream.removeEventListener('close', closed)
    })
  }

  async #ready(): Promise<Stream> {
    if (this.#closed) throw new Error('the peer is gone')
    if (this.#stream?.writeStatus === 'writable') return this.#stream
    const late = (): Error => new Error('the peer does not answer')
    const stream = await within({ clock: this.#clock, ms: SEND_TIMEOUT_MS, late }, signal => this.#open(signal))
    if (this.#closed) {
      stream.abort(new Error('the peer is gone'))
      throw new Error('the peer is gone')
    }
    stream.addEventListener('close', () => {
      if (this.#stream === stream) this.#stream = null
    })
    this.#stream = stream
    return stream
  }

  #rest(): void {
    const stream = this.#stream
    this.#stream = null
    stream?.close().catch(() => undefined)
  }
}
