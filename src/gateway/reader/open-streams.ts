import type { Activity } from '../../concurrency/activity.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { StreamBody } from '../../http/stream-body.ts'
import type { ContentStream } from './content-request.ts'

/** Longest pause of a reader. An open stream keeps its blocks from garbage collection. */
const IDLE_MS = 10 * 60_000

/** The source of a stream. `release` frees its resources, and may be called more than once. */
export interface StreamSource {
  bytes: AsyncIterable<Uint8Array>
  release: () => void
}

/** Open streams of readers in the process. It closes abandoned ones, and all of them at a stop. */
export class OpenStreams {
  readonly #activity: Activity
  readonly #clock: Clock

  constructor(activity: Activity, clock: Clock) {
    this.#activity = activity
    this.#clock = clock
  }

  /**
   * Runs work that ends before it resolves.
   *
   * @throws HoldfastError `ABORTED` if the signal ends it, `UNAVAILABLE` during a stop
   */
  async during<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await this.#activity.run(signal, work)
    } catch (error) {
      throw reasonOf(error, signal)
    }
  }

  /**
   * Opens a stream. Resolves with its first piece. Throws the errors of {@link OpenStreams.during}.
   *
   * @param open must free its resources itself if it throws
   */
  open<T>(
    signal: AbortSignal | undefined,
    open: (signal: AbortSignal) => Promise<{ source: StreamSource; about: T }>,
  ): Promise<T & { stream: ContentStream }> {
    const opened = Promise.withResolvers<T & { stream: ContentStream }>()
    this.during(signal, async own => {
      const { source, about } = await open(own)
      const over = Promise.withResolvers<void>()
      const stream = await this.#start(source, own, signal, over.resolve)
      opened.resolve({ ...about, stream })
      await over.promise
    }).catch(opened.reject)
    return opened.promise
  }

  async #start(
    { bytes, release }: StreamSource,
    own: AbortSignal,
    signal: AbortSignal | undefined,
    over: () => void,
  ): Promise<ContentStream> {
    const end = (): void => {
      own.removeEventListener('abort', abort)
      cancel()
      release()
      over()
    }
    const watch = (): (() => void) => this.#clock.after(IDLE_MS, () => body.fail(left()))
    let cancel = (): void => undefined
    const body = await StreamBody.start(bytes, end, () => {
      cancel()
      cancel = watch()
    }).catch((error: unknown) => {
      release()
      throw error
    })
    const abort = (): void => body.fail(reasonOf(own.reason, signal))
    own.addEventListener('abort', abort, { once: true })
    cancel = watch()
    if (own.aborted) abort()
    return body
  }
}

function left(): HoldfastError {
  return new HoldfastError('ABORTED', `the stream was not read for ${IDLE_MS / 60_000} minutes`)
}

/** Converts an abort to the caller's error: their own signal, or a stop. */
function reasonOf(error: unknown, signal: AbortSignal | undefined): unknown {
  if (isHoldfastError(error, 'UNAVAILABLE')) return error
  if (signal?.aborted === true) {
    return new HoldfastError('ABORTED', 'the signal ended the reading', { cause: signal.reason })
  }
  if (!isHoldfastError(error, 'ABORTED')) return error
  return new HoldfastError('UNAVAILABLE', 'the node is stopping', { cause: error })
}
