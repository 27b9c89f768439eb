import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createGatewayServer } from '../../../adapters/node-http/http-server.ts'
import { MemoryBudget } from '../../../src/concurrency/capacity/memory-budget.ts'
import { GatewayWorld } from '../../gateway/world.ts'
import { pseudoRandom } from '../../support/bytes.ts'

const MIB = 1024 ** 2

test('an answer that gets no memory in time is 503 with Retry-After', async () => {
  const world = await GatewayWorld.open()
  const memory = MemoryBudget.of(4 * MIB, world.clock)
  const server = createGatewayServer(world.gateway({}, { memory })).listen(0, '127.0.0.1')
  try {
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const content = pseudoRandom(3 * MIB)
    const url = `http://127.0.0.1:${port}/ipfs/${await world.addFile(content)}`
    await memory.take(4 * MIB, new AbortController().signal)
    const refused = fetch(url)
    while (!memory.isAwaited) await new Promise(resolve => setImmediate(resolve))
    world.clock.advance(15_000)
    const { status, headers } = await refused
    expect([status, headers.get('retry-after')]).toEqual([503, '5'])
    memory.give(4 * MIB)
    const served = await fetch(url)
    expect(served.status).toBe(200)
    expect(Buffer.from(await served.arrayBuffer()).equals(content)).toBe(true)
    expect(memory.used).toBe(0)
  } finally {
    server.closeAllConnections()
    server.close()
    await world.close()
  }
})
