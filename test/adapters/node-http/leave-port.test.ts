import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { drain } from '../../../adapters/node-http/drain.ts'
import { leavePort } from '../../../adapters/node-http/leave-port.ts'

const CLIENTS = 400
const LONGEST_MS = 2_000

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

test('a server stops in time although its clients connect again and again', async () => {
  const server = http.createServer((_, answer) => answer.end('answered'))
  server.listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const outcomes = new Map<string, number>()
  const note = (outcome: string): void => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  const clients = Array.from({ length: CLIENTS }, async () => {
    for (let isOver = false; !isOver; ) {
      const asked = http.get({ host: '127.0.0.1', port, agent: false, headers: { connection: 'close' } })
      const response = once(asked, 'response').then(([answer]) => answer.resume())
      note(await response.then(() => 'answered').catch(error => error.code))
      isOver = await response.then(() => false).catch(() => true)
    }
  })
  while ((outcomes.get('answered') ?? 0) < CLIENTS) await new Promise(resolve => setImmediate(resolve))
  await drain(server, LONGEST_MS)
  await Promise.all(clients)
  outcomes.delete('answered')
  expect(outcomes).toEqual(new Map([['ECONNREFUSED', CLIENTS]]))
})
