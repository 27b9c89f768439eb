import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createServer } from '../../adapters/node-http/index.ts'
import type { Engine } from '../../src/index.ts'
import { withEngine } from '../support/test-engine.ts'
import { threadReaders } from '../support/thread-readers.ts'
import { askersOf, keep } from './kept-content.ts'
import { type Asker, ask, differences, type Port } from './matrix.ts'
import { API_SURFACES, HOST, SURFACES } from './surfaces.ts'

async function withPorts(engine: Engine, run: (ports: Port[]) => Promise<void>): Promise<void> {
  const listen = async (api: Engine['api'], gateway: Engine['api']) => {
    const server = createServer({ api, gateway })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return server
  }
  const servers = [await listen(engine.api, engine.gateway), await listen(engine.ownGateway, engine.ownGateway)]
  const readers = await threadReaders(engine)
  const [api = 0, gateway = 0] = servers.map(server => (server.address() as AddressInfo).port)
  try {
    await run([
      { name: 'the API', kind: 'api', port: api },
      { name: 'the gateway', kind: 'gateway', port: gateway },
      { name: 'a thread', kind: 'gateway', port: readers.port },
    ])
  } finally {
    await readers.stop()
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  }
}

describe('private content', () => {
  test('is absent for strangers and other accounts, on every surface', { timeout: 600_000 }, async () => {
    await withEngine(
      async ({ engine, account, newAccount }) => {
        const { contents, shared } = await keep(engine, account)
        const askers = await askersOf(engine, account, await newAccount())
        await withPorts(engine, async ports => {
          expect(await differences(ports, SURFACES, contents, askers)).toEqual([])
          const [stranger, other] = askers
          expect(await differences(ports, API_SURFACES, contents, [stranger, other] as Asker[])).toEqual([])
          for (const port of ports) {
            const answer = await ask(port, { name: 'path', port: port.kind, path: cid => `/ipfs/${cid}` }, shared, {
              name: 'a stranger',
              headers: {},
            })
            expect([port.name, answer.status, answer.body]).toEqual([port.name, 200, 'a shared public file'])
          }
        })
      },
      { gateway: { host: HOST } },
    )
  })
})
