// A program: a bare server that sends plain files as fast as Node can. Further threads share its port.
import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

interface Place {
  dir: string
  port: number
}

const [, , dir = '.', threads = '1'] = process.argv
const place = isMainThread ? { dir, port: 0 } : (workerData as Place)

const server = createServer(async (request, response) => {
  try {
    if (request.method === 'PUT') {
      const name = randomUUID()
      await pipeline(request, createWriteStream(join(place.dir, name)))
      response.writeHead(201).end(`/${name}`)
      return
    }
    const file = join(place.dir, request.url ?? '')
    const { size } = await stat(file)
    response.writeHead(200, { 'content-length': size, 'content-type': 'application/octet-stream' })
    await pipeline(createReadStream(file), response)
  } catch (error) {
    response.destroy(error instanceof Error ? error : undefined)
  }
})

server.listen({ port: place.port, host: '127.0.0.1', reusePort: Number(threads) > 1 || !isMainThread }, () => {
  const address = server.address()
  if (address === null || typeof address !== 'object') return
  if (isMainThread) void startOthers(address.port)
  else parentPort?.postMessage('listening')
})

async function startOthers(port: number): Promise<void> {
  const others = Array.from({ length: Number(threads) - 1 }, () => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { dir, port } satisfies Place })
    worker.unref()
    return new Promise(resolve => worker.once('message', resolve))
  })
  await Promise.all(others)
  console.log(`listening on http://127.0.0.1:${port}`)
}

if (isMainThread) process.once('SIGTERM', () => process.exit(0))
