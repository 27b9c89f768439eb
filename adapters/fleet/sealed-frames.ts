import { createHmac, timingSafeEqual } from 'node:crypto'
import type { BodyStream } from '../../src/http/api-messages.ts'

/** In bytes. A receiver keeps one frame in memory until it has checked it. */
const LARGEST = 64 * 1024
const LENGTH_BYTES = 4
const MAC_BYTES = 32

/** Binds a stream to one message of a fleet. */
export interface StreamSeal {
  secret: Uint8Array
  /** The use of the stream, with the proof of its message, which is unique. */
  purpose: string
}

/**
 * Splits a stream into frames: the length of the content, the content, and its MAC. The last frame is empty. A MAC
 * covers the number of its frame, so that no frame can be left out, moved or repeated.
 */
export function sealedFrames(source: BodyStream, seal: StreamSeal): AsyncIterableIterator<Uint8Array> {
  const macs = new FrameMacs(seal)
  return piped(source, async function* (chunks) {
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += LARGEST) yield macs.frame(chunk.subarray(at, at + LARGEST))
      source.discard?.(chunk)
    }
    yield macs.frame(new Uint8Array())
  })
}

/**
 * Yields the content of sealed frames, each after its check. Throws the error of `altered` for any other bytes, also if
 * the last frame is missing.
 */
export function openedFrames(
  source: AsyncIterable<Uint8Array>,
  seal: StreamSeal,
  altered: () => Error,
): AsyncIterableIterator<Uint8Array> {
  const macs = new FrameMacs(seal)
  return piped(source, async function* (chunks) {
    const frame = new ReceivedFrame()
    let isOver = false
    for await (const chunk of chunks) {
      for (let rest = chunk; rest.length > 0; ) {
        if (isOver) throw altered()
        const left = frame.take(rest)
        if (left === null) throw altered()
        rest = left
        if (!frame.isWhole) continue
        const { content, mac } = frame
        if (!macs.isNext(content, mac)) throw altered()
        isOver = content.length === 0
        if (!isOver) yield content
        frame.clear()
      }
    }
    if (!isOver) throw altered()
  })
}

/** Computes the MACs of a stream, in the order of its frames. */
class FrameMacs {
  readonly #key: Buffer
  #count = 0n

  constructor({ secret, purpose }: StreamSeal) {
    this.#key = createHmac('sha256', secret).update(`holdfast 3 frames ${purpose}`).digest()
  }

  frame(content: Uint8Array): Uint8Array {
    const length = Buffer.alloc(LENGTH_BYTES)
    length.writeUInt32BE(content.length)
    return Buffer.concat([length, content, this.#next(content)])
  }

  isNext(content: Uint8Array, mac: Uint8Array): boolean {
    return timingSafeEqual(this.#next(content), mac)
  }

  #next(content: Uint8Array): Buffer {
    const number = Buffer.alloc(8)
    number.writeBigUInt64BE(this.#count++)
    return createHmac('sha256', this.#key).update(number).update(content).digest()
  }
}

/** A frame that arrives in pieces. */
class ReceivedFrame {
  readonly #head = Buffer.alloc(LENGTH_BYTES)
  /** Content and MAC. The consumer of the content owns this memory. */
  #body = Buffer.alloc(0)
  #filled = 0

  get isWhole(): boolean {
    return this.#filled === LENGTH_BYTES + this.#body.length && this.#body.length > 0
  }

  get content(): Uint8Array {
    return this.#body.subarray(0, -MAC_BYTES)
  }

  get mac(): Uint8Array {
    return this.#body.subarray(-MAC_BYTES)
  }

  /** Takes what belongs to this frame. Returns the rest, or null if the frame is longer than any sender makes it. */
  take(bytes: Uint8Array): Uint8Array | null {
    const missing = LENGTH_BYTES - this.#filled
    if (missing > bytes.length) return this.#fill(this.#head, this.#filled, bytes)
    if (missing > 0) {
      this.#fill(this.#head, this.#filled, bytes.subarray(0, missing))
      const length = this.#head.readUInt32BE()
      if (length > LARGEST) return null
      this.#body = Buffer.allocUnsafe(length + MAC_BYTES)
    }
    const rest = missing > 0 ? bytes.subarray(missing) : bytes
    return this.#fill(this.#body, this.#filled - LENGTH_BYTES, rest)
  }

  clear(): void {
    this.#filled = 0
    this.#body = Buffer.alloc(0)
  }

  #fill(into: Buffer, at: number, bytes: Uint8Array): Uint8Array {
    const taken = bytes.subarray(0, into.length - at)
    into.set(taken, at)
    this.#filled += taken.length
    return bytes.subarray(taken.length)
  }
}

/** Closes the source also if nothing was read, which a generator alone would not do. */
function piped(
  source: AsyncIterable<Uint8Array>,
  through: (chunks: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array, void, undefined>,
): AsyncIterableIterator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  const pieces = through({ [Symbol.asyncIterator]: () => chunks })
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => pieces.next(),
    return: async () => {
      await pieces.return()
      await chunks.return?.()
      return { done: true, value: undefined }
    },
  }
}
