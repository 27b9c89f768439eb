import type { Server } from 'node:http'
import { type Socket, Server as SocketServer } from 'node:net'
import { loopTime } from '../../src/concurrency/turns.ts'
import { type Clock, systemClock } from '../../src/domain/clock.ts'

/** During a round of the event loop this short, probably no connection has been queued. */
const SHORT_MS = 0.2
/** Rounds without a new connection after which the queue counts as empty, even if none was short. */
const MOST_ROUNDS = 200

/**
 * Stops listening on a port that other servers share. A connection closes after its next response or when idle, and
 * never while its client may be sending a request.
 */
export async function leavePort(server: Server): Promise<void> {
  server.prependListener('request', (_, answer) => {
    answer.shouldKeepAlive = false
  })
  // `SocketServer.prototype.close` closes only the listening socket. The timeout checks still close idle connections
  // until `server.close` ends them.
  server.once('close', () => server.close())
  await queueEmptied(server, Number.POSITIVE_INFINITY)
  SocketServer.prototype.close.call(server)
}

/**
 * Accepts all queued connections, because the system would reset them when the port closes. Resolves when the queue is
 * empty, after `ms` at the latest. The caller must then stop listening immediately.
 *
 * Accepted connections are read only afterwards. Clients that connect again after each response would otherwise never
 * let the queue become empty.
 */
export function queueEmptied(server: Server, ms: number, clock: Clock = systemClock): Promise<void> {
  const end = clock.now() + ms
  return new Promise(resolve => {
    let hasAccepted = false
    const accepted: Socket[] = []
    const onConnection = (socket: Socket): void => {
      hasAccepted = true
      accepted.push(socket)
      // The server resumes a new connection in the next tick.
      process.nextTick(() => socket.pause())
    }
    server.on('connection', onConnection)
    const round = (left: number): void => {
      const begun = loopTime()
      hasAccepted = false
      // Node accepts one connection in each round of the event loop, before the round's immediates run.
      setImmediate(() => {
        const isEmpty = !hasAccepted && (loopTime() - begun <= SHORT_MS || left === 0)
        if (!isEmpty && clock.now() < end) return round(hasAccepted ? MOST_ROUNDS : left - 1)
        server.off('connection', onConnection)
        for (const socket of accepted) socket.resume()
        resolve()
      })
    }
    // This round may have passed the place where connections are accepted.
    setImmediate(() => round(MOST_ROUNDS))
  })
}
