import type { Server } from 'node:http'
import { Server as SocketServer } from 'node:net'

/** A round of the event loop this short has left practically no connection waiting. */
const SHORT_MS = 0.2
/** Most rounds to wait for a short one. */
const MOST_ROUNDS = 200

/**
 * Stops listening without effect on clients, because others listen on the same port. First accepts the waiting
 * connections, which the system would reset. A connection closes with its next answer, or at the usual idle timeout,
 * but not while its client may be sending a request.
 */
export function leavePort(server: Server): void {
  server.prependListener('request', (_, answer) => {
    answer.shouldKeepAlive = false
  })
  // Closes idle connections as an HTTP server would: its own check ends only with the last connection.
  server.once('close', () => server.close())
  afterShortRound(() => SocketServer.prototype.close.call(server), MOST_ROUNDS)
}

/** Each round of the event loop accepts all waiting connections before its immediates run. */
function afterShortRound(act: () => void, rounds: number): void {
  const begun = performance.now()
  setImmediate(() => {
    if (performance.now() - begun <= SHORT_MS || rounds === 0) act()
    else afterShortRound(act, rounds - 1)
  })
}
