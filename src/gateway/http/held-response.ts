import type { Slot } from '../../concurrency/paced-slot.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { ApiRequest, ApiResponse } from '../../http/api-messages.ts'
import { StreamBody } from '../../http/stream-body.ts'

export interface Holding {
  clock: Clock
  logger: Logger
  /** Time in ms after which a body that has not ended is aborted. */
  maxDurationMs: number
  /** The concurrency slot of the response. A slow response loses its slot if other requests are waiting for a slot. */
  slot: Pick<Slot, 'watch' | 'progress'>
  /** Releases the resources of the response. Called once, when the response ends. */
  release: () => void
}

/**
 * Releases the resources of a response when its body ends, the client disconnects or the time limit expires. If this
 * function throws, the resources are not released, and the caller must release them.
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
      holding.logger.error({ path: request.path, err: failure }, 'gateway response failed midway')
    }
  }
  const stream = await StreamBody.start(body, end, holding.slot.progress.bind(holding.slot))
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
