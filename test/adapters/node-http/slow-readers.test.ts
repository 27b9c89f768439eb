import { once } from 'node:events'
import http from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createServer } from '../../../adapters/node-http/index.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import type { ManualClock } from '../../support/manual-clock.ts'
import { needsLinux } from '../../support/needs.ts'
import { withEngine } from '../../support/test-engine.ts'

const SLOTS = 12
const FILE_BYTES = 24 * 1024 * 1024

/** Opens a connection of an address and requests content. */
function requester(port: number, path: string, localAddress: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
  return socket
}

/** Requests content, and stops reading once the answer has begun. */
async function slowReader(port: number, path: string, address: string): Promise<Socket> {
  const socket = requester(port, path, address)
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

/** Serves a large file in few slots to slow readers, whose addresses are given. */
async function withSlowReaders(
  addresses: readonly string[],
  run: (given: { port: number; path: string; clock: ManualClock; readers: Socket[] }) => Promise<void>,
): Promise<void> {
  await withEngine(
    async ({ engine, account, clock }) => {
      const { record } = await engine.pins.upload(pseudoRandom(FILE_BYTES), { account })
      const path = `/ipfs/${record.cid}`
      const server = createServer(engine).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      // One after the other, because the shares of the addresses depend on the order of their requests.
      const readers: Socket[] = []
      for (const address of addresses) readers.push(await slowReader(port, path, address))
      try {
        await run({ port, path, clock, readers })
      } finally {
        for (const reader of readers) reader.destroy()
        server.closeAllConnections()
        server.close()
        await once(server, 'close')
      }
    },
    { gateway: { maxConcurrentRequests: SLOTS } },
  )
}

test('a crowd of slow readers stays connected while another address is answered', needsLinux, async () => {
  await withSlowReaders(
    Array.from({ length: SLOTS - 1 }, () => '127.0.0.1'),
    async ({ port, path, readers }) => {
      const waiting = requester(port, path, '127.0.0.1')
      readers.push(waiting)
      let answered = 0
      waiting.once('readable', () => answered++)
      expect(await ask(port, path)).toBe(200)
      expect(await ask(port, path)).toBe(200)
      expect(readers.filter(({ destroyed, readableEnded }) => destroyed || readableEnded)).toEqual([])
      expect(answered).toBe(0)
      readers[0]?.destroy()
      await once(waiting, 'readable')
    },
  )
})

test('stalled readers of few addresses do not block other addresses', needsLinux, async () => {
  const addresses = Array.from({ length: SLOTS }, (_, index) => (index < SLOTS - 2 ? '127.0.0.1' : '127.0.0.3'))
  await withSlowReaders(addresses, async ({ port, path, clock }) => {
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
  })
})
