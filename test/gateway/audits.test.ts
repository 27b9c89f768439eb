import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { threadReaders } from '../support/thread-readers.ts'
import type { AuditContext } from './audit.ts'
import { audits } from './audits.ts'
import { directClient, type GatewayClient, portClient, socketClient } from './client.ts'
import { AUDIT_HOST, GatewayWorld } from './world.ts'

interface Host {
  name: string
  scheme?: 'http'
  serve(world: GatewayWorld): Promise<GatewayClient & { close(): Promise<void> }>
}

const hosts: readonly Host[] = [
  {
    name: 'in-process',
    serve: async world => ({ ...directClient(world.gateway({ host: AUDIT_HOST })), close: async () => {} }),
  },
  { name: 'node:http', scheme: 'http', serve: world => socketClient(world.gateway({ host: AUDIT_HOST })) },
  {
    name: 'threads',
    scheme: 'http',
    serve: async world => {
      const options = { host: AUDIT_HOST }
      let holder = 0
      const engine = {
        ownGateway: world.gateway({ ...options, ownOrigin: true }),
        shareReading: async () => world.share(options, ++holder),
      }
      const readers = await threadReaders(engine, { logger: world.logger })
      // One connection per request, so that both threads serve audits.
      const request: GatewayClient['request'] = async (method, path, headers) => {
        const client = portClient(readers.port)
        return client.request(method, path, headers).finally(() => client.close())
      }
      return { request, close: readers.stop }
    },
  },
]

test('audits have unique names', () => {
  expect(new Set(audits.map(({ id }) => id)).size).toBe(audits.length)
  expect(audits.filter(({ name }) => !/^MUST /.test(name))).toEqual([])
})

describe.each(hosts)('the gateway, $name', ({ scheme, serve }) => {
  let context: AuditContext
  let close: () => Promise<void>

  beforeAll(async () => {
    const world = await GatewayWorld.open()
    const client = await serve(world)
    context = { world, request: client.request, ...(scheme && { scheme }) }
    close = async () => {
      await client.close()
      await world.close()
    }
  })
  afterAll(() => close())

  for (const audit of audits) {
    test(`${audit.id}: ${audit.name}`, async () => {
      await audit.run(context)
      await expect.poll(() => context.world.leases.held().size).toBe(0)
    })
  }
})
