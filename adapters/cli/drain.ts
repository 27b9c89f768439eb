import type { createServer } from '../node-http/index.ts'

/** How often connections that have gone idle are looked for; a server that closes leaves them open otherwise. */
const IDLE_CHECK_MS = 100

/**
 * Stops accepting, lets requests in flight end, and cuts off those that have not after `ms`. Resolves when every
 * connection is closed.
 */
export async function drain(server: ReturnType<typeof createServer>, ms: number): Promise<void> {
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
  const late = setTimeout(() => server.closeAllConnections(), ms)
  try {
    await new Promise<void>(resolve => server.close(() => resolve()))
  } finally {
    clearInterval(idle)
    clearTimeout(late)
  }
}
