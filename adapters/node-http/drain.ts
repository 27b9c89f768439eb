import type { Server } from 'node:http'
import { type Clock, systemClock } from '../../src/domain/clock.ts'
import { queueEmptied } from './leave-port.ts'
import { keepingAnswers } from './open-answers.ts'

/** Share of the time limit for accepting queued connections, and its maximum in ms. The rest is for their responses. */
const ACCEPT_SHARE = 1 / 4
const MOST_ACCEPT_MS = 2_500
/** Interval for closing idle connections, which a closing server leaves open. */
const IDLE_CHECK_MS = 100

/**
 * Stops listening after the queued connections, and resolves when all connections are closed. After `ms`, closes the
 * remaining ones.
 * @example await drain(server, 10_000)
 */
export async function drain(server: Server, ms: number | null, clock: Clock = systemClock): Promise<void> {
  const begun = clock.now()
  const closed = new Promise<void>(resolve => server.once('close', resolve))
  const accepting = ms === null ? Number.POSITIVE_INFINITY : Math.min(ms * ACCEPT_SHARE, MOST_ACCEPT_MS)
  if (server.listening) await queueEmptied(server, accepting, clock)
  if (server.listening) keepingAnswers(server, () => server.close())
  let cancelIdle: () => void
  const closeIdle = (): void => {
    keepingAnswers(server, () => server.closeIdleConnections())
    cancelIdle = clock.after(IDLE_CHECK_MS, closeIdle)
  }
  cancelIdle = clock.after(IDLE_CHECK_MS, closeIdle)
  const left = Math.max(0, (ms ?? 0) - (clock.now() - begun))
  const cancelLate = ms === null ? undefined : clock.after(left, () => server.closeAllConnections())
  try {
    await closed
  } finally {
    cancelIdle()
    cancelLate?.()
  }
}
