import { HoldfastError } from '../domain/errors.ts'
import { interruptible } from '../domain/sources.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { UploadSlots } from './services.ts'

/**
 * Does an upload in one of its account's places. While others wait, one of many of the same account whose body comes too
 * slowly loses its place.
 *
 * @throws HoldfastError `UNAVAILABLE` if there is no place, or no longer
 */
export async function inUploadSlot<T>(
  slots: UploadSlots,
  { request, principal }: AuthenticatedContext,
  work: (upload: { body: AsyncIterable<Uint8Array>; signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const slot = await slots.enter(principal.account.id, request.signal)
  const ended = new AbortController()
  const signal = AbortSignal.any([request.signal, ended.signal])
  const tooSlow = (): void => {
    const message = 'others wait, and this upload of many of the same account comes too slowly'
    ended.abort(new HoldfastError('UNAVAILABLE', message))
  }
  const body = interruptible(slot.watching(request.body, tooSlow), signal)
  try {
    return await work({ body, signal })
  } finally {
    slot.leave()
  }
}
