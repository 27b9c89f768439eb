import type { Slot } from '../../concurrency/slots/paced-slot.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { ApiRequest, ApiResponse } from '../../http/api-messages.ts'
import { StreamBody } from '../../http/stream-body.ts'

export interface Holding {
  clock: Clock
  logger: Logger
  /** A body that takes longer is aborted. */
  maxDurationMs: number
  /** If other requests wait for a slot, a slow response loses its slot. */
  slot: Pick<Slot, 'watch' | 'progress'>
  /** Content of the response. A body is ended when a revision refuses it. */
  content: {
    /** Calls `end` with the reason when a revision refuses the content. */
    watch(end: (reason: unknown) => void): void
    /** @throws the reason for which a revision has refused the content */
    checkRefusal(): void
  }
  /** Called with the size of each chunk of a stream that is being sent. */
  sending: (bytes: number) => void
  /** Called once, when the response ends. */
  release: () => void
}

/**
 * Calls `release` when the body ends, the client disconnects or the time limit expires. If this function throws, the
 * caller must release.
 */
export async function heldResponse(request: ApiRequest, response: ApiResponse, holding: Holding): Promise<ApiResponse> {
  const { body } = response
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) {
    holding.content.checkRefusal()
    holding.release()
    return response
  }
  const end = (failure?: unknown): void => {
    request.signal.removeEventListener('abort', close)
    cancelDeadline()
    holding.release()
    if (failure !== undefined && !request.signal.aborted) {
      holding.logger.error({ path: request.path, err: failure }, 'gateway response failed midway')
    }
  }
  const { slot, sending } = holding
  const stream = await StreamBody.start(body, end, bytes => {
    slot.progress(bytes)
    sending(bytes)
  })
  slot.watch(reason => stream.fail(reason))
  holding.content.watch(reason => stream.fail(reason))
  const close = (): void => void stream.return().catch(() => undefined)
  request.signal.addEventListener('abort', close, { once: true })
  const { clock, maxDurationMs } = holding
  const cancelDeadline = clock.after(maxDurationMs, () =>
    stream.fail(new HoldfastError('ABORTED', `the answer took longer than ${maxDurationMs / 1000} s`)),
  )
  if (request.signal.aborted) close()
  return { ...response, body: stream }
}
