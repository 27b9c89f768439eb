import type { Clock } from '../domain/clock.ts'
import { orAborted } from '../domain/sources.ts'

/** @throws the reason of the signal */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(ms, resolve)
  try {
    await orAborted(promise, signal)
  } finally {
    cancel()
  }
}
