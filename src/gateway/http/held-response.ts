import type { Slot } from '../../concurrency/paced-slot.ts'
import type { Clock } from '../../domain/clock.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Logger } from '../../domain/logger.ts'
import type { ApiRequest, ApiResponse } from '../../http/api-messages.ts'
import { StreamBody } from '../../http/stream-body.ts'

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
