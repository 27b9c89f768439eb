import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createServer } from '../../adapters/node-http/index.ts'
import { carOf } from '../content/car/support/cars.ts'
import { fileOf, leaves } from '../pins/fetches/support/dags.ts'
import { sha256Hex } from '../support/bytes.ts'
import { withEngine } from '../support/test-engine.ts'
import { BrokenOff, Client } from './client.ts'
import { readBack } from './inspection.ts'

test('only a timelock may cut off an answer that is being read', async () => {
  await withEngine(async ({ engine, clock, account }) => {
    const { secret } = await engine.keys.create(account, { name: 'test', scopes: ['files:write'] })
    const server = createServer(engine)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const client = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, secret)
      const parts = leaves(40, 20_000, 'timelock')
      const dag = fileOf(parts)
      const bytes = Buffer.concat(parts.flatMap(part => part.blocks.map(block => block.bytes)))
      const content = { cid: dag.root.toString(), hashes: { '': sha256Hex(bytes) } }
      const car = await carOf([dag.root], dag.blocks)
      const timelock = new Date(clock.now() + 60_000).toISOString()
      const type = { 'content-type': 'application/vnd.ipld.car' }
      expect((await client.ask('POST', `/api/v3/files/car?timelock=${timelock}`, type, car)).status).toBe(201)
      await readBack(client, { ...content, expiresAt: Date.now() + 60_000 })

      server.prependOnceListener('request', (_, outgoing) => onFirstWrite(outgoing, () => clock.advance(60_000)))
      await expect(readBack(client, { ...content, expiresAt: Date.now() + 60_000 })).rejects.toThrow(BrokenOff)
      clock.advance(-60_000)
      server.prependOnceListener('request', (_, outgoing) => onFirstWrite(outgoing, () => clock.advance(60_000)))
      await readBack(client, { ...content, expiresAt: Date.now() - 1 })

      await expect(readBack(client, { ...content, expiresAt: null })).rejects.toThrow(/does not read back/)
      await readBack(client, { ...content, expiresAt: Date.now() - 1 })
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})

function onFirstWrite(outgoing: ServerResponse, then: () => void): void {
  const write = outgoing.write.bind(outgoing) as (...given: unknown[]) => boolean
  outgoing.write = (...given: unknown[]) => {
    then()
    outgoing.write = write
    return write(...given)
  }
}
