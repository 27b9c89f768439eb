// A program: a bare server that refuses all requests at once, except those of one credential.
import { createServer } from 'node:http'

const SERVED = `Bearer ${process.argv[2]}`

const server = createServer(({ headers }, response) => {
  if (headers.authorization === SERVED) response.end('{}')
  else response.writeHead(429, { 'retry-after': '1' }).end('{}')
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') console.log(`listening on http://127.0.0.1:${address.port}`)
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
