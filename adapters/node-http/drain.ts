import type { Server } from 'node:http'
import { queueEmptied } from './leave-port.ts'

/** Interval in ms between searches for idle connections, which a closing server does not close by itself. */
const IDLE_CHECK_MS = 100

/**
 * Accepts the connections that are queued, then stops listening and waits for all requests to end. After `ms`, closes
 * the remaining connections. If `ms` is null, waits without a limit. The promise resolves when every connection is
 * closed.
 */
export async function drain(server: Server, ms: number | null): Promise<void> {
  const limit = ms ?? Number.POSITIVE_INFINITY
  const begun = performance.now()
  const closed = new Promise<void>(resolve => server.once('close', resolve))
  if (server.listening) await queueEmptied(server, limit)
  if (server.listening) server.close()
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
  const left = Math.max(0, limit - (performance.now() - begun))
  const late = ms === null ? undefined : setTimeout(() => server.closeAllConnections(), left)
  try {
    await closed
  } finally {
    clearInterval(idle)
    clearTimeout(late)
  }
}
