import type { MessageStream } from '@libp2p/interface'
import type { AbstractStreamMuxer } from '@libp2p/utils'
import { nextTurn, turnSpent } from '../../concurrency/turns.ts'

const HEADER_BYTES = 12
const DATA = 0
/** Frames between two looks at the clock. A message of Noise has room for 5,461 frames without data. */
const FRAMES_AT_ONCE = 64

/** Makes a muxer of Yamux handle a flood of frames in turns, and refuse a frame that is longer than any window. */
export function takeInTurns(muxer: AbstractStreamMuxer, connection: MessageStream, longestFrame: number): void {
  const deliver = muxer.onData.bind(muxer)
  const turns = new FrameTurns(muxer, connection, { deliver, longestFrame })
  muxer.onData = data => turns.take(data instanceof Uint8Array ? [data] : data)
}

/** The muxer keeps the start of a frame in memory until all of the frame has arrived. */
class FrameTurns {
  readonly #muxer: AbstractStreamMuxer
  readonly #connection: MessageStream
  readonly #deliver: (data: Uint8Array) => void
  readonly #longestFrame: number
  readonly #header = Buffer.alloc(HEADER_BYTES)
  #headerLength = 0
  /** Bytes of the current frame's data that have not arrived. */
  #dataLeft = 0
  #frames = 0
  readonly #waiting: Uint8Array[] = []
  #rests = false

  constructor(
    muxer: AbstractStreamMuxer,
    connection: MessageStream,
    options: { deliver: (data: Uint8Array) => void; longestFrame: number },
  ) {
    this.#muxer = muxer
    this.#connection = connection
    this.#deliver = options.deliver
    this.#longestFrame = options.longestFrame
  }

  /** @throws RangeError if a frame is too long, or the muxer's error for a wrong frame */
  take(pieces: Iterable<Uint8Array>): void {
    for (const piece of pieces) {
      if (this.#rests) this.#waiting.push(piece)
      else this.#takeOne(piece)
    }
  }

  #takeOne(piece: Uint8Array): void {
    let delivered = 0
    for (let at = 0; at < piece.length; at = this.#skip(piece, at)) {
      if (this.#frames < FRAMES_AT_ONCE) continue
      this.#frames = 0
      this.#deliver(piece.subarray(delivered, at))
      delivered = at
      if (!turnSpent()) continue
      this.#rest(piece.subarray(at))
      return
    }
    this.#deliver(piece.subarray(delivered))
  }

  /** Returns the offset after the current header or data, or the end of the piece. */
  #skip(piece: Uint8Array, at: number): number {
    if (this.#dataLeft > 0) {
      const end = Math.min(piece.length, at + this.#dataLeft)
      this.#dataLeft -= end - at
      return end
    }
    const end = Math.min(piece.length, at + HEADER_BYTES - this.#headerLength)
    this.#header.set(piece.subarray(at, end), this.#headerLength)
    this.#headerLength += end - at
    if (this.#headerLength < HEADER_BYTES) return end
    this.#headerLength = 0
    this.#frames++
    if (this.#header[1] === DATA) this.#dataLeft = this.#header.readUInt32BE(8)
    if (this.#dataLeft > this.#longestFrame) throw new RangeError('a frame is longer than any window')
    return end
  }

  #rest(rest: Uint8Array): void {
    this.#rests = true
    this.#waiting.push(rest)
    // A `resume` that has delivered this data would resume the layers below after a pause in its course.
    queueMicrotask(() => {
      if (this.#rests && this.#connection.status === 'open') this.#connection.pause()
    })
    void nextTurn().then(() => this.#wake())
  }

  #wake(): void {
    this.#rests = false
    try {
      this.take(this.#waiting.splice(0))
      if (!this.#rests && this.#connection.status === 'open') this.#connection.resume()
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error))
      this.#muxer.abort(cause)
      this.#connection.abort(cause)
    }
  }
}
