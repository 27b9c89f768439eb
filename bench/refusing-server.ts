// A program: a bare server that refuses all requests at once, except those of one credential.
import { createServer } from 'node:http'
import { serveUntilStopped } from './serve-until-stopped.ts'

const SERVED = `Bearer ${process.argv[2]}`

const server = createServer(({ headers }, response) => {
  if (headers.authorization === SERVED) response.end('{}')
  else response.writeHead(429, { 'retry-after': '1' }).end('{}')
})

serveUntilStopped(server)
