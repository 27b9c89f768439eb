import type { Activity } from '../../concurrency/activity.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { StreamBody } from '../../http/stream-body.ts'
import type { ContentStream } from './content-request.ts'

/** After this time, an unread stream is closed, so garbage collection can delete its blocks. */
const IDLE_MS = 10 * 60_000

/** Call `release` to free the source's resources. A second call does nothing. */
export interface StreamSource {
  bytes: AsyncIterable<Uint8Array>
  release: () => void
  /** Calls its argument when the stream must end. */
  watch: (end: (reason: unknown) => void) => void
}

/** Streams of callers in this process. A stop of the node closes all streams. */
export class OpenStreams {
  readonly #activity: Activity
  readonly #clock: Clock

  constructor(activity: Activity, clock: Clock) {
    this.#activity = activity
    this.#clock = clock
  }

  /**
   * Runs work that a stopping node waits for.
   *
   * @throws HoldfastError `ABORTED` if the signal aborts the work; `UNAVAILABLE` if the node is stopping
   */
  async during<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await this.#activity.run(signal, work)
    } catch (error) {
      throw reasonOf(error, signal)
    }
  }

  /**
   * Opens a stream and waits for the first chunk. Rejects with the errors of {@link OpenStreams.during}.
   *
   * @param open if this function throws, it must free its own resources
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
    { bytes, release, watch }: StreamSource,
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
    const idle = (): (() => void) => this.#clock.after(IDLE_MS, () => body.fail(left()))
    let cancel = (): void => undefined
    const body = await StreamBody.start(bytes, end, () => {
      cancel()
      cancel = idle()
    }).catch((error: unknown) => {
      release()
      throw error
    })
    const abort = (): void => body.fail(reasonOf(own.reason, signal))
    own.addEventListener('abort', abort, { once: true })
    cancel = idle()
    watch(reason => body.fail(reason))
    if (own.aborted) abort()
    return webStreamOf(body)
  }
}

function webStreamOf(body: StreamBody): ContentStream {
  return new ReadableStream<Uint8Array>(
    {
      pull: async controller => {
        const { done, value } = await body.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      cancel: async () => void (await body.return()),
    },
    // Without a queue, a stream that nobody reads holds no more blocks than its start.
    { highWaterMark: 0 },
  )
}

function left(): HoldfastError {
  return new HoldfastError('ABORTED', `the stream was not read for ${IDLE_MS / 60_000} minutes`)
}

/** Converts an abort to `ABORTED` for the caller's own signal, and to `UNAVAILABLE` for a stop of the node. */
function reasonOf(error: unknown, signal: AbortSignal | undefined): unknown {
  if (isHoldfastError(error, 'UNAVAILABLE')) return error
  if (signal?.aborted === true) {
    return new HoldfastError('ABORTED', 'the signal ended the reading', { cause: signal.reason })
  }
  if (!isHoldfastError(error, 'ABORTED')) return error
  return new HoldfastError('UNAVAILABLE', 'the node is stopping', { cause: error })
}
