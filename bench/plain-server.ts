// A program: a bare server that hashes and stores each request's body, as the subject `limit` does with content.
// It keeps its files until it stops. Deleting them would leave warm memory to the next upload, an advantage that no
// real store has.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { writeHashed } from './hashed-file.ts'
import { serveUntilStopped } from './serve-until-stopped.ts'

const dir = mkdtempSync(join(process.argv[2] ?? '.', 'kept-'))

const server = createServer((request, response) => {
  const file = join(dir, randomUUID())
  writeHashed(request, file).then(
    sha256 => response.end(JSON.stringify({ sha256 })),
    (error: Error) => response.writeHead(500).end(error.message),
  )
})

serveUntilStopped(server, async () => rmSync(dir, { recursive: true }))
