import type { Server } from 'node:http'

/** Listens on a free port, prints the URL, and stops at SIGTERM. */
export function serveUntilStopped(server: Server, close: () => Promise<void> = async () => undefined): void {
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (address !== null && typeof address === 'object') console.log(`listening on http://127.0.0.1:${address.port}`)
  })
  process.once('SIGTERM', () => {
    server.close(() => void close())
    server.closeAllConnections()
  })
}
