import type { Server } from 'node:http'

/** How often connections that have gone idle are looked for; a server that closes leaves them open otherwise. */
const IDLE_CHECK_MS = 100

/**
 * Has a server that listens, or has begun to close, stop accepting, lets requests in flight end, and cuts off those that
 * have not after `ms`; null for never. Resolves when every connection is closed.
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
