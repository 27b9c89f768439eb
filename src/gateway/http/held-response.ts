import { free } from '../../content/dag/ordered-walk.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Slot } from '../../domain/concurrency/slots.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { ApiRequest, ApiResponse, BodyStream } from '../../http/types.ts'

export interface Holding {
  clock: Clock
  logger: Logger
  /** How long a body may take. */
  maxDurationMs: number
  /** The place that the answer takes: while others wait for one, a client that reads too slowly loses it. */
  slot: Pick<Slot, 'watch' | 'progress'>
  /** Gives back what the answer needs; called once, when it is over. */
  release: () => void
}

/** How much of a body is made before its answer begins: what breaks until then can still be answered as an error. */
const START_BYTES = 16 * 1024

/**
 * Holds what an answer needs for as long as its body is being read: until its end, until the client goes or time is
 * up. If this throws, nothing has been released.
 */
export async function heldResponse(request: ApiRequest, response: ApiResponse, holding: Holding): Promise<ApiResponse> {
  const { body } = response
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) {
    holding.release()
    return response
  }
  const end = (failure?: unknown): void => {
    request.signal.removeEventListener('abort', close)
    cancelDeadline()
    holding.release()
    if (failure !== undefined && !request.signal.aborted) {
      holding.logger.error({ path: request.path, err: failure }, 'gateway response broken off')
    }
  }
  const stream = await StreamBody.start(body, end, bytes => holding.slot.progress(bytes))
  holding.slot.watch(reason => stream.fail(reason))
  const close = (): void => void stream.return().catch(() => undefined)
  request.signal.addEventListener('abort', close, { once: true })
  const { clock, maxDurationMs } = holding
  const cancelDeadline = clock.after(maxDurationMs, () =>
    stream.fail(new HoldfastError('ABORTED', `the answer took longer than ${maxDurationMs / 1000} s`)),
  )
  if (request.signal.aborted) close()
  return { ...response, body: stream }
}

/**
 * A response body that tells once when it is over: read to its end, closed early, or broken. Unlike a generator's
 * `finally` this holds even if it is closed before it was ever read.
 */
export class StreamBody implements AsyncIterableIterator<Uint8Array>, BodyStream {
  readonly #source: AsyncIterator<Uint8Array, void, undefined>
  readonly #end: (failure?: unknown) => void
  readonly #handedOver: (bytes: number) => void
  /** What has been read before the answer began. */
  readonly #start: IteratorResult<Uint8Array, void>[]
  #ended = false
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
