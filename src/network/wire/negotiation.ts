import type { MessageStream, Stream } from '@libp2p/interface'
import { AbstractMessageStream } from '@libp2p/utils'

/** A peer names the header, and few protocols before one that this node speaks. */
const MOST_ANSWERS = 16
/** The library reads names of up to 1,024 bytes, each in a turn with one answer. */
const BYTES_PER_ANSWER = 2_048
/**
 * Maximum number of undelivered bytes: two initial windows of a stream, because a peer may send data right after a
 * protocol name.
 */
const MOST_HELD_BYTES = 512 * 1024

const ends = new WeakMap<MessageStream, () => void>()

/**
 * Limits multistream-select on a connection until {@link endNegotiation}, and on a stream until it has a protocol. The
 * library reads a byte per microtask, answers any number of names, and never refuses a length. A megabyte would hold
 * the event loop for ten seconds.
 */
export function beginNegotiation(stream: MessageStream): void {
  if (!(stream instanceof AbstractMessageStream)) throw new TypeError('streams have changed: negotiation has no limit')
  const negotiation = new Negotiation(stream)
  ends.set(stream, () => negotiation.end())
}

export function endNegotiation(stream: MessageStream): void {
  ends.get(stream)?.()
  ends.delete(stream)
}

/** Ends the negotiation of a new stream when libp2p sets its protocol. */
export function negotiateProtocol(stream: Stream): void {
  beginNegotiation(stream)
  let protocol = ''
  Object.defineProperty(stream, 'protocol', {
    configurable: true,
    enumerable: true,
    get: () => protocol,
    set: (name: string) => {
      protocol = name
      endNegotiation(stream)
    },
  })
}

class Negotiation {
  readonly #stream: AbstractMessageStream
  readonly #onData: AbstractMessageStream['onData']
  readonly #held: Uint8Array[] = []
  #heldBytes = 0
  #credit = BYTES_PER_ANSWER
  #answers = 0

  constructor(stream: AbstractMessageStream) {
    this.#stream = stream
    this.#onData = stream.onData.bind(stream)
    const send = stream.send.bind(stream)
    stream.onData = data => this.#take(data instanceof Uint8Array ? [data] : data)
    stream.send = data => {
      if (++this.#answers > MOST_ANSWERS) throw new RangeError('the peer asks for too many protocols')
      this.#credit += BYTES_PER_ANSWER
      queueMicrotask(() => this.#deliver())
      return send(data)
    }
  }

  /** Delivers all data that waits. From now on, the stream is as the library made it. */
  end(): void {
    Reflect.deleteProperty(this.#stream, 'onData')
    Reflect.deleteProperty(this.#stream, 'send')
    this.#credit = Number.POSITIVE_INFINITY
    this.#deliver()
  }

  #take(pieces: Iterable<Uint8Array>): void {
    for (const piece of pieces) {
      this.#held.push(piece)
      this.#heldBytes += piece.length
    }
    this.#deliver()
    if (this.#heldBytes > MOST_HELD_BYTES) this.#stream.abort(new RangeError('the peer sends data without a protocol'))
  }

  #deliver(): void {
    while (this.#credit > 0) {
      const first = this.#held.shift()
      if (first === undefined) return
      const part = first.subarray(0, this.#credit)
      if (part.length < first.length) this.#held.unshift(first.subarray(part.length))
      this.#credit -= part.length
      this.#heldBytes -= part.length
      this.#onData(part)
    }
  }
}
