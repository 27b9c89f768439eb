import { freeMemory } from '../content/dag/ordered-walk.ts'
import type { BodyStream } from './api-messages.ts'

/** How much of a body is made before its answer begins: what breaks until then can still be answered as an error. */
const START_BYTES = 16 * 1024

/**
 * A response body that tells once when it is over, and how much was taken of it: read to its end, closed early, or
 * broken. Unlike a generator's `finally` this holds even if it is closed before it was ever read.
 */
export class StreamBody implements AsyncIterableIterator<Uint8Array>, BodyStream {
  readonly #source: AsyncIterator<Uint8Array, void, undefined>
  readonly #end: (failure?: unknown) => void
  readonly #handedOver: (bytes: number) => void
  /** What has been read before the answer began. */
  readonly #start: IteratorResult<Uint8Array, void>[]
  #bytes = 0
  #ended = false
  #listener: (bytes: number) => void = () => undefined
  #failure: { error: unknown } | null = null

  private constructor(
    source: AsyncIterator<Uint8Array, void, undefined>,
    start: IteratorResult<Uint8Array, void>[],
    end: (failure?: unknown) => void,
    handedOver: (bytes: number) => void,
  ) {
    this.#source = source
    this.#start = start
    this.#end = end
    this.#handedOver = handedOver
  }

  /**
   * Reads the first 16 KiB, so that what is broken from the start can still be answered as an error.
   *
   * @param end called once when the body is over, with the error that broke it if that is how; not if this throws
   * @param handedOver called with the bytes of each piece that is read
   */
  static async start(
    source: AsyncIterable<Uint8Array>,
    end: (failure?: unknown) => void,
    handedOver: (bytes: number) => void = () => undefined,
  ): Promise<StreamBody> {
    const iterator = source[Symbol.asyncIterator]()
    const start: IteratorResult<Uint8Array, void>[] = []
    for (let bytes = 0; bytes < START_BYTES; ) {
      const result = await iterator.next()
      start.push(result)
      if (result.done === true) break
      bytes += result.value.byteLength
    }
    return new StreamBody(iterator, start, end, handedOver)
  }

  /** A body of which nothing is read ahead. */
  static of(source: AsyncIterable<Uint8Array>): StreamBody {
    const nothing = (): void => undefined
    return new StreamBody(source[Symbol.asyncIterator](), [], nothing, nothing)
  }

  /** Calls `listener` once the body is over, with the bytes that were taken of it; at once if it is over already. */
  onEnd(listener: (bytes: number) => void): void {
    if (this.#ended) listener(this.#bytes)
    else this.#listener = listener
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, void>> {
    this.#throwFailure()
    if (this.#ended) return { done: true, value: undefined }
    try {
      const result = this.#start.shift() ?? (await this.#source.next())
      this.#throwFailure()
      if (result.done === true) this.#finish()
      else this.#take(result.value.byteLength)
      return result
    } catch (error) {
      this.#finish(error)
      throw error
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, void>> {
    this.#finish()
    await this.#source.return?.()
    return { done: true, value: undefined }
  }

  discard(chunk: Uint8Array): void {
    freeMemory(chunk)
  }

  /** Breaks the body off: whoever reads on gets `error`. */
  fail(error: unknown): void {
    if (this.#ended) return
    this.#failure = { error }
    this.#finish(error)
    this.#source.return?.().catch(() => undefined)
  }

  #take(bytes: number): void {
    this.#bytes += bytes
    this.#handedOver(bytes)
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error
  }

  #finish(failure?: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#end(failure)
    this.#listener(this.#bytes)
  }
}
