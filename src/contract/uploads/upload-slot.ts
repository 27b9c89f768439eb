import { HoldfastError } from '../../domain/errors.ts'
import { interruptible } from '../../domain/sources.ts'
import type { AuthenticatedContext } from '../../http/route.ts'
import type { UploadSlots } from '../services.ts'

/** An upload with a slot. */
export interface SlottedUpload {
  body: AsyncIterable<Uint8Array>
  /** The same body, whole, if it arrived with the headers; null for a streamed one. */
  arrived: Uint8Array | null
  signal: AbortSignal
  /** Frees the slot, once the upload reads no more. */
  leave(): void
}

/**
 * Runs an upload in one of its account's slots. While other uploads wait, an account with several uploads loses the
 * slot of one that is too slow.
 *
 * @throws HoldfastError `UNAVAILABLE` if there is no free slot, or the upload loses it
 */
export async function inUploadSlot<T>(
  slots: UploadSlots,
  { request, principal }: AuthenticatedContext,
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
