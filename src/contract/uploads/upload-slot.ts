import type { Principal } from '../../access/principal.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { interruptible } from '../../domain/sources.ts'
import type { ApiRequest } from '../../http/api-messages.ts'
import type { Services } from '../services.ts'

export interface SlottedUpload {
  body: AsyncIterable<Uint8Array>
  /** The whole body, if it arrived together with the headers. Otherwise null. */
  arrived: Uint8Array | null
  signal: AbortSignal
  /** Frees the slot. Call after the upload has read the body. */
  leave(): void
}

/**
 * Runs an upload in a slot. If other accounts wait, a slow upload of an account with several uploads loses its slot.
 *
 * @throws HoldfastError `UNAVAILABLE` if no slot becomes free in time, or if the upload loses its slot
 */
export async function inUploadSlot<T>(
  slots: Pick<Services['uploadSlots'], 'enter'>,
  { request, principal }: { request: Pick<ApiRequest, 'body' | 'arrived' | 'signal'>; principal: Principal },
  work: (upload: SlottedUpload) => Promise<T>,
): Promise<T> {
  const slot = await slots.enter(principal.account.id, request.signal)
  try {
    const arrived = (await request.arrived?.()) ?? null
    const leave = (): void => slot.leave()
    if (arrived !== null) return await work({ body: only(arrived), arrived, signal: request.signal, leave })
    const ended = new AbortController()
    const signal = AbortSignal.any([request.signal, ended.signal])
    const tooSlow = (): void => {
      const message = 'this upload is too slow while uploads of other accounts wait'
      ended.abort(new HoldfastError('UNAVAILABLE', message))
    }
    return await work({ body: interruptible(slot.watching(request.body, tooSlow), signal), arrived, signal, leave })
  } finally {
    slot.leave()
  }
}

async function* only(body: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield body
}
