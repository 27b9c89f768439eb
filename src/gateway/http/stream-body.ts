import { free } from '../../content/owned-memory.ts'
import type { BodyStream } from '../../http/types.ts'

/**
 * A response body that tells once when it is over: read to its end, closed early, or broken. Unlike a generator's
 * `finally` this holds even if it is closed before it was ever read.
 */
export class StreamBody implements AsyncIterableIterator<Uint8Array>, BodyStream {
  readonly #source: AsyncIterator<Uint8Array, void, undefined>
  readonly #end: (failure?: unknown) => void
  readonly #handedOver: (bytes: number) => void
  #first: IteratorResult<Uint8Array, void> | null
  #ended = false
  #failure: { error: unknown } | null = null

  private constructor(
    source: AsyncIterator<Uint8Array, void, undefined>,
    first: IteratorResult<Uint8Array, void>,
    end: (failure?: unknown) => void,
    handedOver: (bytes: number) => void,
  ) {
    this.#source = source
    this.#first = first
    this.#end = end
    this.#handedOver = handedOver
  }

  /**
   * Reads as far as the first piece, so that what is broken from the start can still be answered as an error.
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
    return new StreamBody(iterator, await iterator.next(), end, handedOver)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, void>> {
    this.#throwFailure()
    if (this.#ended) return { done: true, value: undefined }
    try {
      const result = this.#first ?? (await this.#source.next())
      this.#first = null
      this.#throwFailure()
      if (result.done === true) this.#finish()
      else this.#handedOver(result.value.byteLength)
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
    free(chunk)
  }

  /** Breaks the body off: whoever reads on gets `error`. */
  fail(error: unknown): void {
    if (this.#ended) return
    this.#failure = { error }
    this.#finish(error)
    this.#source.return?.().catch(() => undefined)
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error
  }

  #finish(failure?: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#end(failure)
  }
}
