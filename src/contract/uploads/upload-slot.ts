import { HoldfastError } from '../../domain/errors.ts'
import { interruptible } from '../../domain/sources.ts'
import type { AuthenticatedContext } from '../../http/route.ts'
import type { UploadSlots } from '../services.ts'

/** An upload that has its place. */
export interface SlottedUpload {
  body: AsyncIterable<Uint8Array>
  /** The body, if all of it was here from the start; it may be read either way. */
  arrived: Uint8Array | null
  signal: AbortSignal
  /** Gives the place back, once nothing more is taken in. */
  leave(): void
}

/**
 * Does an upload in one of its account's places. While others wait, one of many of the same account whose body comes too
 * slowly loses its place.
 *
 * @throws HoldfastError `UNAVAILABLE` if there is no place, or no longer
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
      const message = 'others wait, and this upload of many of the same account comes too slowly'
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
