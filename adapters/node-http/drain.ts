import type { Server } from 'node:http'
import { queueEmptied } from './leave-port.ts'

/** A closing server does not close idle connections by itself. */
const IDLE_CHECK_MS = 100

/**
 * Accepts the queued connections, stops listening, and resolves when every connection is closed. After `ms`, closes the
 * remaining connections.
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
