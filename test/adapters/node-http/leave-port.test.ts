import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { leavePort } from '../../../adapters/node-http/leave-port.ts'

const CLIENTS = 400

test('a server leaves its port after it has accepted all waiting connections', async () => {
  const server = http.createServer((_, answer) => answer.end('answered'))
  server.listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const answers = Array.from({ length: CLIENTS }, async () => {
    const asked = http.get({ host: '127.0.0.1', port, agent: false })
    const [answer] = (await once(asked, 'response')) as [http.IncomingMessage]
    return (await answer.setEncoding('utf8').toArray()).join('')
  })
  // The system has made the connections, and the server has accepted none.
  await leavePort(server)
  expect(await Promise.all(answers)).toEqual(Array(CLIENTS).fill('answered'))
  expect(server.listening).toBe(false)
})
