import { once } from 'node:events'
import http from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createServer } from '../../../adapters/node-http/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { needsLinux } from '../../support/needs.ts'
import { withEngine } from '../../support/test-engine.ts'

const SLOTS = 12
const FILE_BYTES = 24 * 1024 * 1024

/** Requests content, and stops reading once the answer has begun. */
async function slowReader(port: number, path: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' })
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}

/** Sends a request from another address of this machine; resolves with the status. */
async function ask(port: number, path: string): Promise<number | undefined> {
  const request = http.get({ host: '127.0.0.1', port, path, localAddress: '127.0.0.2', agent: false })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  request.destroy()
  return response.statusCode
}

test('stalled readers of one address do not block other addresses', needsLinux, async () => {
  await withEngine(
    async ({ engine, account, clock }) => {
      const { record } = await engine.pins.upload(pseudoRandom(FILE_BYTES), { account })
      const path = `/ipfs/${record.cid}`
      const server = createServer(engine).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const readers = await Promise.all(Array.from({ length: SLOTS }, () => slowReader(port, path)))
      try {
        const timers = clock.waiting
        const answered = ask(port, path)
        // It waits in the queue, with a timer of its own and one for the search for slow slots.
        for (let turns = 0; clock.waiting < timers + 2; turns++) {
          expect(turns).toBeLessThan(100_000)
          await new Promise(resolve => setImmediate(resolve))
        }
        clock.advance(11_000)
        expect(await answered).toBe(200)
        expect(await ask(port, path)).toBe(200)
      } finally {
        for (const reader of readers) reader.destroy()
        server.closeAllConnections()
        server.close()
        await once(server, 'close')
      }
    },
    { gateway: { maxConcurrentRequests: SLOTS } },
  )
})
