import { freeMemory } from '../content/dag/ordered-walk.ts'
import type { BodyStream } from './api-messages.ts'

/** Bytes to read before the response starts. If the source fails within them, the client gets an error response. */
const START_BYTES = 16 * 1024

/**
 * A body that reports its end once, whether complete, closed early or failed. Unlike a generator's `finally`, the
 * report also occurs if the body is closed before the first read.
 */
export class StreamBody implements AsyncIterableIterator<Uint8Array>, BodyStream {
  readonly #source: AsyncIterator<Uint8Array, void, undefined>
  readonly #end: (failure?: unknown) => void
  readonly #handedOver: (bytes: number) => void
  /** Results that were read before the response started. */
  readonly #start: IteratorResult<Uint8Array, void>[]
  #bytes = 0
  #ended = false
  #listener: (bytes: number) => void = () => undefined
  #onFail: () => void = () => undefined
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
   * Reads the start of the source, so an early error can still become an error response.
   *
   * @param end called once when the body ends, with the error if the body failed; not called if this method throws
   * @param handedOver called with the number of bytes of each chunk that is sent
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

  /** Creates a body without reading from the source in advance. */
  static of(source: AsyncIterable<Uint8Array>): StreamBody {
    const nothing = (): void => undefined
    return new StreamBody(source[Symbol.asyncIterator](), [], nothing, nothing)
  }

  /** Calls `listener` with the number of bytes sent when the body ends, or immediately if it has already ended. */
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

  onFail(listener: () => void): void {
    if (this.#failure !== null) listener()
    else this.#onFail = listener
  }

  fail(error: unknown): void {
    if (this.#ended) return
    this.#failure = { error }
    this.#finish(error)
    this.#onFail()
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
