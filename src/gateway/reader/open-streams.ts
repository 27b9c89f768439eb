import type { Activity } from '../../concurrency/activity.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { StreamBody } from '../../http/stream-body.ts'
import type { ContentStream } from './content-request.ts'

/** How long a stream may be left alone: what it reads cannot be collected meanwhile. */
const IDLE_MS = 10 * 60_000

/** What a stream is made from; `release` gives back what it needs, and is safe to call more than once. */
export interface StreamSource {
  bytes: AsyncIterable<Uint8Array>
  release: () => void
}

/** Streams that are being read in the process. Those that nobody reads on are closed, and all of them at a stop. */
export class OpenStreams {
  readonly #activity: Activity
  readonly #clock: Clock

  constructor(activity: Activity, clock: Clock) {
    this.#activity = activity
    this.#clock = clock
  }

  /**
   * Runs what ends before it resolves.
   *
   * @throws HoldfastError `ABORTED` if the signal ends it, `UNAVAILABLE` once everything stops.
   */
  async during<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await this.#activity.run(signal, work)
    } catch (error) {
      throw reasonOf(error, signal)
    }
  }

  /**
   * Opens a stream, and resolves as soon as its first piece is there. Throws what {@link OpenStreams.during} throws.
   *
   * @param open releases by itself what it has taken if it throws
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
  return new HoldfastError('ABORTED', `nobody has read on for ${IDLE_MS / 60_000} minutes`)
}

/** What an abort means to the caller: their own signal, or a stop. */
function reasonOf(error: unknown, signal: AbortSignal | undefined): unknown {
  if (isHoldfastError(error, 'UNAVAILABLE')) return error
  if (signal?.aborted === true) {
    return new HoldfastError('ABORTED', 'reading was ended by its signal', { cause: signal.reason })
  }
  if (!isHoldfastError(error, 'ABORTED')) return error
  return new HoldfastError('UNAVAILABLE', 'the node is stopping', { cause: error })
}
