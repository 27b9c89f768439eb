// Run as a process of its own: a bare server that sends plain files, as fast as Node does.
import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { serveUntilStopped } from './serve-until-stopped.ts'

const dir = process.argv[2] ?? '.'

serveUntilStopped(
  createServer(async (request, response) => {
    try {
      if (request.method === 'PUT') {
        const name = randomUUID()
        await pipeline(request, createWriteStream(join(dir, name)))
        response.writeHead(201).end(`/${name}`)
        return
      }
      const file = join(dir, request.url ?? '')
      const { size } = await stat(file)
      response.writeHead(200, { 'content-length': size, 'content-type': 'application/octet-stream' })
      await pipeline(createReadStream(file), response)
    } catch (error) {
      response.destroy(error instanceof Error ? error : undefined)
    }
  }),
)
