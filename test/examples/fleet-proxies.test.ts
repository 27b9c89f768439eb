import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import { Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fixedPort } from '../support/fixed-port.ts'
import { openNodeProcesses } from '../support/fleet-processes.ts'
import { hasProxy, PROXIES, startFleetProxy } from '../support/fleet-proxy.ts'
import { needs } from '../support/needs.ts'
import { hasPostgres, type SharedPostgres, sharedPostgres } from '../support/postgres-server.ts'

/** On a busy machine a check of a proxy may fail, so a request may need another attempt. */
const PATIENCE = { timeout: 80_000 }
const REQUESTS = 6

const hasAny = hasPostgres && PROXIES.some(hasProxy)

describe('two nodes behind a proxy of the examples', {
  timeout: 120_000,
  ...needs(hasAny, 'there is no PostgreSQL, or no proxy'),
}, () => {
  let postgres: SharedPostgres
  let fleet: Awaited<ReturnType<typeof openNodeProcesses>>
  beforeAll(async () => {
    postgres = await sharedPostgres()
    fleet = await openNodeProcesses(await postgres.migrated(), { trustedProxies: 1 })
  })
  afterAll(async () => {
    await fleet?.close()
    await postgres?.stop()
  })

  for (const name of PROXIES) {
    test(`answers through the restart of one node: ${name}`, needs(hasProxy(name), `there is no ${name}`), async () => {
      const { a, b } = fleet
      const proxy = await startFleetProxy(name, [a, b])
      const list = async (): Promise<number> => (await a.callAt(proxy.url, 'GET', '/api/v3/users/me/uploads')).status
      const upload = async (cluster: string): Promise<number> => {
        const form = new FormData()
        form.set('file', new Blob([`${name} ${cluster}`]), 'f')
        return (await a.callAt(proxy.url, 'POST', '/api/v3/files', form, { 'x-cluster': cluster })).status
      }
      const metrics = async (): Promise<number> => (await fetch(`${proxy.url}/metrics`)).status
      try {
        await expect.poll(() => upload('first'), PATIENCE).toBe(201)
        expect(await metrics()).toBe(404)
        await b.kill()
        for (let i = 0; i < REQUESTS; i++) await expect.poll(list, PATIENCE).toBe(200)
        await expect.poll(() => upload('first'), PATIENCE).toBe(200)
        // HAProxy may close a connection when it marks the node as down.
        await expect.poll(() => upload('second'), PATIENCE).toBe(503)
        await b.start()
        await expect.poll(() => upload('second'), PATIENCE).toBe(201)
        for (let i = 0; i < REQUESTS; i++) await expect.poll(list, PATIENCE).toBe(200)
      } finally {
        await proxy.stop()
      }
    })
  }
})

/** Does not fit into the buffers between the node and a client that does not read. */
const ANSWER = Buffer.alloc(20_000_000, 'content')

/** A node that takes each upload, and sends the same content to all readers. It dies at once, or ends its answers. */
async function simpleNode(id: string) {
  const port = await fixedPort(1)
  const servers = await Promise.all(
    [port, port + 1].map(async at => {
      const server = http.createServer(
        (asked, answer) => void asked.resume().on('end', () => answer.end(asked.url === '/ipfs/slow' ? ANSWER : '')),
      )
      server.listen(at, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  // `server.close()` would cut off answers that are not sent yet.
  const leave = (): void => {
    for (const server of servers) Server.prototype.close.call(server)
  }
  const die = (): void => {
    for (const server of servers) server.close().closeAllConnections()
  }
  return { id, url: `http://127.0.0.1:${port}`, gateway: `http://127.0.0.1:${port + 1}`, leave, die }
}

describe('a node that cannot be reached any more', () => {
  test('leaves HAProxy the end of a slow download', needs(hasProxy('haproxy'), 'there is no haproxy'), async () => {
    const node = await simpleNode('a')
    const proxy = await startFleetProxy('haproxy', [node])
    try {
      const asked = http.get(`${proxy.gateway}/ipfs/slow`, { agent: false })
      const [answer] = (await once(asked, 'response')) as [IncomingMessage]
      node.leave()
      await expect.poll(() => proxy.errors().join()).toMatch(/gateway\/a is DOWN/)
      let bytes = 0
      for await (const chunk of answer) bytes += (chunk as Buffer).length
      expect(bytes).toBe(ANSWER.length)
    } finally {
      await proxy.stop()
      node.die()
    }
  })

  for (const name of PROXIES) {
    test(
      `makes the proxy refuse no upload to the other one: ${name}`,
      needs(hasProxy(name), `there is no ${name}`),
      async () => {
        const nodes = [await simpleNode('a'), await simpleNode('b')] as const
        const proxy = await startFleetProxy(name, nodes)
        const upload = async (): Promise<number | 'closed'> => {
          try {
            const answer = await fetch(proxy.url, { method: 'POST', body: 'x'.repeat(1_000) })
            await answer.arrayBuffer()
            return answer.status
          } catch {
            return 'closed'
          }
        }
        try {
          expect([await upload(), await upload()]).toEqual([200, 200])
          nodes[1].die()
          const statuses: Array<number | 'closed'> = []
          for (let i = 0; i < REQUESTS; i++) statuses.push(await upload())
          expect(statuses).not.toContain(503)
          // HAProxy closes the connection of an upload that is still connecting to a node when that is marked as down.
          expect(statuses.filter(status => status !== 200).length).toBeLessThanOrEqual(1)
        } finally {
          await proxy.stop()
          for (const { die } of nodes) die()
        }
      },
    )
  }
})
