import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditContext } from './audit.ts'
import { audits } from './audits.ts'
import { directClient, type GatewayClient, socketClient } from './client.ts'
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
]

test('audits have names of their own', () => {
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
      expect(context.world.leases.held().size).toBe(0)
    })
  }
})
