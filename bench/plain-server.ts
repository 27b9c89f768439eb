// Run as a process of its own: a bare server that does with a request's body what `limit` does with the content.
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { writeHashed } from './hashed-file.ts'

const dir = process.argv[2] ?? '.'

const server = createServer((request, response) => {
  const file = join(dir, randomUUID())
  writeHashed(request, file).then(
    sha256 => response.end(JSON.stringify({ sha256 }), () => void rm(file)),
    (error: Error) => response.writeHead(500).end(error.message),
  )
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') console.log(`listening on http://127.0.0.1:${address.port}`)
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
