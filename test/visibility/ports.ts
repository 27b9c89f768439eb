import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from '../../adapters/node-http/index.ts'
import type { Engine } from '../../src/index.ts'

/** Runs with the URLs of the API's port and of the gateway's own port. */
export async function withPorts(engine: Engine, run: (api: string, gateway: string) => Promise<void>): Promise<void> {
  const made = [
    createServer({ api: engine.api, gateway: engine.gateway }),
    createServer({ api: engine.ownGateway, gateway: engine.ownGateway }),
  ]
  const urls: string[] = []
  for (const server of made) {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  }
  try {
    await run(urls[0] ?? '', urls[1] ?? '')
  } finally {
    for (const server of made) {
      server.closeAllConnections()
      server.close()
    }
  }
}
