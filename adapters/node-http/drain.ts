import type { Server } from 'node:http'
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
export async function drain(server: Server, ms: number | null): Promise<void> {
  const limit = ms ?? Number.POSITIVE_INFINITY
  const begun = performance.now()
  const closed = new Promise<void>(resolve => server.once('close', resolve))
  const accepting = ms === null ? limit : Math.min(ms * ACCEPT_SHARE, MOST_ACCEPT_MS)
  if (server.listening) await queueEmptied(server, accepting)
  if (server.listening) keepingAnswers(server, () => server.close())
  const idle = setInterval(() => keepingAnswers(server, () => server.closeIdleConnections()), IDLE_CHECK_MS)
  const left = Math.max(0, limit - (performance.now() - begun))
  const late = ms === null ? undefined : setTimeout(() => server.closeAllConnections(), left)
  try {
    await closed
  } finally {
    clearInterval(idle)
    clearTimeout(late)
  }
}
