import { fileURLToPath } from 'node:url'
import type { Scale } from '../bench.ts'
import { ChildServer } from '../child-server.ts'
import { type Clients, clientsFor } from '../clients/clients.ts'
import type { Contest, Subject } from '../contest.ts'
import { fill } from '../services/filled.ts'
import { holdfast } from '../services/holdfast.ts'
import { type Call, call } from '../services/service.ts'
import { Sizes, serviceSubject } from '../subjects/service-subject.ts'

const RECORDS: Readonly<Record<Scale, number>> = { full: 1_000, quick: 1_000, tiny: 30 }
const PAGE = 20
const CONNECTIONS = 16
const SECONDS = 2
const SCRIPT = fileURLToPath(new URL('../fastify-server.ts', import.meta.url))
const KEY = 'a'.repeat(64)

/** Compares an authenticated page of records over HTTP with Fastify, which sends the same page without a lookup. */
export function httpList(scale: Scale): Contest<Sizes<number>> {
  const clients = clientsFor(scale)
  const page: Page = { json: null }
  const ours = serviceSubject<Sizes<number>, Call>(holdfast, {
    async prepare(service, { sizes }, before) {
      if (before !== undefined) return before
      await fill(service, sizes, 512)
      const list = service.list?.(PAGE)
      if (list === undefined) throw new Error('the service has no list')
      page.json = await call(list)
      const { uploads } = JSON.parse(page.json) as { uploads: unknown[] }
      if (uploads.length !== PAGE) throw new Error(`a list of ${PAGE} has ${uploads.length}`)
      return list
    },
    run: (_, list) => hammer(clients, list),
  })
  return {
    ...{ metric: 'page-of-20', unit: '/s', better: 'higher', subjects: [ours, fastify(clients, page)] },
    createWork: scale => new Sizes(RECORDS[scale]),
    value: (_, seconds, done) => done / seconds,
  }
}

/** The server's answer, which Fastify then repeats. */
interface Page {
  json: string | null
}

function fastify(clients: Clients, page: Page): Subject<Sizes<number>> {
  return {
    name: 'fastify',
    async start() {
      const server = await ChildServer.start(SCRIPT, [KEY], process.env)
      const headers = { authorization: `Bearer ${KEY}` }
      const to = { url: `${server.url}/list`, headers }
      return {
        pids: [server.pid],
        async prepare() {
          if (page.json === null) throw new Error('fastify repeats the answers of http, so it cannot be measured alone')
          const json = { ...headers, 'content-type': 'application/json' }
          await call({ method: 'PUT', url: to.url, headers: json }, Buffer.from(page.json))
        },
        run: () => hammer(clients, { method: 'GET', ...to }),
        stop: () => server.stop(),
      }
    },
  }
}

function hammer(clients: Clients, list: Call) {
  return clients.hammer({ calls: [list], connections: CONNECTIONS, seconds: SECONDS, count: 200 })
}
