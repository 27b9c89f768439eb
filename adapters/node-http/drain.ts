import type { Server } from 'node:http'

/** Interval of the search for connections that have become idle, which a closing server leaves open. */
const IDLE_CHECK_MS = 100

/**
 * Stops accepting on a server, lets requests in flight end, and cuts off the rest after `ms`; null for never. Resolves
 * when every connection is closed.
 */
export async function drain(server: Server, ms: number | null): Promise<void> {
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
  const late = ms === null ? undefined : setTimeout(() => server.closeAllConnections(), ms)
  try {
    await new Promise<void>(resolve => {
      server.once('close', resolve)
      if (server.listening) server.close()
    })
  } finally {
    clearInterval(idle)
    clearTimeout(late)
  }
}
