import type { Server } from 'node:http'
import { Server as SocketServer } from 'node:net'

/** A round of the loop that is so short has left no connection waiting, as good as. */
const SHORT_MS = 0.2
/** Rounds that are waited for one so short. */
const MOST_ROUNDS = 200

/**
 * Has a server stop listening, because others listen on its port, so that its clients notice nothing: what waits to be
 * accepted, which the system would reset, is accepted first, and a connection is closed with its next answer or once it
 * has been idle for as long as always, and not while its client may be asking.
 */
export function leavePort(server: Server): void {
  server.prependListener('request', (_, answer) => {
    answer.shouldKeepAlive = false
  })
  // Closing as an HTTP server would close what is idle. What it looks at connections by ends with the last of them.
  server.once('close', () => server.close())
  afterShortRound(() => SocketServer.prototype.close.call(server), MOST_ROUNDS)
}

/** Each round of the loop accepts all that waits, before what it has set to run immediately. */
function afterShortRound(act: () => void, rounds: number): void {
  const begun = performance.now()
  setImmediate(() => {
    if (performance.now() - begun <= SHORT_MS || rounds === 0) act()
    else afterShortRound(act, rounds - 1)
  })
}
