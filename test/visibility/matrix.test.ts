import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createServer } from '../../adapters/node-http/index.ts'
import type { Engine } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { withEngine } from '../support/test-engine.ts'
import { threadReaders } from '../support/thread-readers.ts'
import { type Asker, ask, CANARY, differences, type Port } from './matrix.ts'
import { API_SURFACES, HOST, SURFACES } from './surfaces.ts'

const big = (seed: string): Buffer => Buffer.concat([Buffer.from(CANARY), pseudoRandom(2_500_000, seed)])

/** Uploads every kind of private content. Returns their CIDs by name, and a public file below a private folder. */
async function keep(engine: Engine, account: string) {
  const { pins } = engine
  const visibility = 'private'
  const shared = await pins.upload('a shared public file', { account })
  const small = await pins.upload(`${CANARY} of one block`, { account, visibility })
  const large = await pins.upload(big('large'), { account, visibility })
  const folder = await pins.uploadDirectory(
    [
      { kind: 'file', path: 'a.txt', content: `${CANARY} below` },
      { kind: 'file', path: 'deep/big.bin', content: big('below') },
      { kind: 'file', path: 'shared.txt', content: 'a shared public file' },
    ],
    { account, visibility },
  )
  const twice = await pins.upload(`${CANARY}, once public`, { account })
  await pins.upload(`${CANARY}, once public`, { account, visibility })
  await pins.discard({ account, uploadId: twice.record.uploadId })
  const [child, below] = folder.files
  const contents = {
    'a file of one block': small.record.cid,
    'a file of several blocks': large.record.cid,
    'a folder': folder.record.cid,
    'a file below a folder': child?.cid ?? '',
    'a large file below a folder': below?.cid ?? '',
    'a file whose public record is gone': twice.record.cid,
  }
  return { contents, shared: shared.record.cid }
}

async function askersOf(engine: Engine, account: string, other: string): Promise<Asker[]> {
  const key = async (owner: string, name: string, scopes: string[]) => {
    const { secret } = await engine.keys.create(owner, { name, scopes } as Parameters<Engine['keys']['create']>[1])
    return { authorization: `Bearer ${secret}` }
  }
  const token = await engine.keys.create(account, { maxUses: 100 })
  return [
    { name: 'a stranger', headers: {} },
    { name: 'another account', headers: await key(other, 'all', ['files:read', 'files:write', 'files:delete']) },
    { name: 'a key without files:read', headers: await key(account, 'w', ['files:write']) },
    { name: 'an upload token', headers: { authorization: `Bearer ${token.secret}` } },
  ]
}

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
  test('is absent for strangers and other accounts, on every surface', { timeout: 120_000 }, async () => {
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
