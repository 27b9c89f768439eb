import type { Server } from 'node:http'
import { Server as SocketServer } from 'node:net'

/** A round of the event loop this short has left practically no time for another connection. */
const SHORT_MS = 0.2
/** Most rounds without a new connection to wait for a short one. */
const MOST_ROUNDS = 200

/**
 * Stops listening without effect on clients, because others listen on the same port. A connection closes with its next
 * answer, or at the usual idle timeout, but not while its client may be sending a request. Resolves when the port is left,
 * which takes `ms` at the most.
 */
export async function leavePort(server: Server, ms = Number.POSITIVE_INFINITY): Promise<void> {
  server.prependListener('request', (_, answer) => {
    answer.shouldKeepAlive = false
  })
  // Closes idle connections as an HTTP server would: its own check ends only with the last connection.
  server.once('close', () => server.close())
  await queueEmptied(server, ms)
  SocketServer.prototype.close.call(server)
}

/**
 * Accepts the connections that wait, which the system would reset when the port closes. Resolves when none waits, and
 * after `ms` at the latest. The caller then stops listening at once.
 */
export function queueEmptied(server: Server, ms: number): Promise<void> {
  const end = performance.now() + ms
  return new Promise(resolve => {
    let hasAccepted = false
    const onConnection = (): void => {
      hasAccepted = true
    }
    server.on('connection', onConnection)
    const round = (left: number): void => {
      const begun = performance.now()
      hasAccepted = false
      // Node accepts one connection in each round of the event loop, before the round's immediates run.
      setImmediate(() => {
        const now = performance.now()
        const isEmpty = !hasAccepted && (now - begun <= SHORT_MS || left === 0)
        if (!isEmpty && now < end) return round(hasAccepted ? MOST_ROUNDS : left - 1)
        server.off('connection', onConnection)
        resolve()
      })
    }
    round(MOST_ROUNDS)
  })
}
