import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openPool } from '../../../adapters/node-http/readers.ts'
import { isSoleListener } from '../../../adapters/node-http/sole-listener.ts'
import { needsLinux } from '../../support/needs.ts'

const opened: Server[] = []

afterEach(() => {
  for (const server of opened.splice(0)) server.close()
})

async function listener(host: string, port = 0): Promise<Server> {
  const server = createServer()
  opened.push(server)
  server.listen({ host, port, reusePort: true })
  await once(server, 'listening')
  return server
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

test('a listener notices others on its address and on every address', needsLinux, async () => {
  const first = await listener('127.0.0.1')
  expect(isSoleListener(first)).toBe(true)
  const elsewhere = await listener('127.0.0.2', portOf(first))
  expect([isSoleListener(first), isSoleListener(elsewhere)]).toEqual([true, true])
  const second = await listener('127.0.0.1', portOf(first))
  expect([isSoleListener(first), isSoleListener(second), isSoleListener(elsewhere)]).toEqual([false, false, true])
  const every = await listener('0.0.0.0', portOf(first))
  expect([isSoleListener(every), isSoleListener(elsewhere)]).toEqual([false, false])
})

test('a pool refuses a port that others share', needsLinux, async () => {
  const port = portOf(await listener('127.0.0.1'))
  const engine = {
    ownGateway: () => Promise.reject(new Error('nobody asks')),
    shareReading: () => Promise.reject(new Error('no thread starts')),
  }
  await expect(openPool(engine, { port, threads: 1 }, {})).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: `cannot listen on 127.0.0.1:${port}: another program listens on the port`,
  })
})
