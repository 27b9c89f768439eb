import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createServer } from '../../adapters/node-http/index.ts'
import { SCOPES } from '../../src/index.ts'
import { carOf, streamOf } from '../content/car/support/cars.ts'
import { type Block, blockOf, directoryOf, leaf, randomFile } from '../pins/fetches/support/dags.ts'
import { withNet } from '../pins/fetches/support/net.ts'
import { callApi } from '../support/api-call.ts'
import { fetchedBlocks } from '../support/owned-roots.ts'
import { withEngine } from '../support/test-engine.ts'
import { checkAdoption } from './adoption.ts'

type Gate = PromiseWithResolvers<void>

describe('content made from private blocks', () => {
  test('is private, and only for credentials that may read them', { timeout: 120_000 }, async () => {
    await withEngine(async ({ engine, account, newAccount }) => {
      const server = createServer({ api: engine.api, gateway: engine.gateway })
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      try {
        const call = (method: string, path: string, headers: Record<string, string>, body?: Uint8Array) =>
          fetch(`${base}${path}`, { method, headers, ...(body && { body: Buffer.from(body) }) })
        await checkAdoption({ engine, account, other: await newAccount(), call })
      } finally {
        server.closeAllConnections()
        server.close()
      }
    })
  })

  test('is not adopted by fetches of a key that may not read', { timeout: 120_000 }, () =>
    withNet(async net => {
      const { engine, dataDir, account, reached } = await net.node()
      const secret = randomFile(4, 30_000, 'a private fetch')
      const origin = await net.provider(secret.blocks)
      const own = { account, visibility: 'private' } as const
      await engine.pins.pin({ ...own, cid: secret.root.toString(), origins: [origin.address] })
      await origin.stop()
      const pinBait = async (name: string, adopts: 'public' | 'own') => {
        const bait = directoryOf({ [name]: secret })
        const attacker = await net.provider(bait.blocks.slice(0, 1))
        const wanted = { ...own, cid: bait.root.toString(), origins: [attacker.address] }
        return engine.pins.pin({ ...wanted, adopts, respondAsync: true })
      }
      const { record } = await pinBait('bait', 'public')
      expect(record).toMatchObject({ status: 'queued', visibility: 'private' })
      await reached('failed')
      expect(fetchedBlocks(dataDir, account)).toBe(1)
      const { record: mine } = await pinBait('mine', 'own')
      await expect.poll(async () => (await engine.pins.get({ account, uploadId: mine.uploadId })).status).toBe('pinned')
    }),
  )

  test('is no part of a public fetch that runs at once', () =>
    withNet(async net => {
      const { engine, account, newAccount } = await net.node()
      const other = await newAccount()
      const [{ cid, bytes }] = leaf(Buffer.from('from a gateway of its own')).blocks as [Block]
      const [asked, joined, held] = [0, 1, 2].map(() => Promise.withResolvers<void>()) as [Gate, Gate, Gate]
      const origin = await net.server((_, response) => {
        asked.resolve()
        void held.promise.then(() => response.setHeader('content-type', 'application/vnd.ipld.raw').end(bytes))
      })
      const empty = await net.server((_, response) => void response.writeHead(404).end())
      const ended = new Promise<string>(resolve => {
        engine.events.on('pin:status', ({ record: { accountId, status } }) => {
          if (accountId === other && status === 'pinning') joined.resolve()
          if (accountId === other && (status === 'failed' || status === 'pinned')) resolve(status)
        })
      })
      const own = { account, visibility: 'private', adopts: 'public' } as const
      await engine.pins.pin({ ...own, cid: cid.toString(), origins: [origin] })
      await asked.promise
      await engine.pins.pin({ account: other, cid: cid.toString(), origins: [empty], respondAsync: true })
      await joined.promise
      for (let turn = 0; turn < 100; turn++) await new Promise(resolve => setImmediate(resolve))
      held.resolve()
      expect(await ended).toBe('failed')
    }))

  test('is no part of a record of an upload token', async () => {
    await withEngine(async ({ engine, account }) => {
      const { record } = await engine.pins.upload('below', { account, visibility: 'private' })
      const { key } = await engine.keys.create(account, { maxUses: 5 })
      const token = { id: key.id, maxUses: 5, maxBytes: null, cluster: null, timelock: null }
      const bait = directoryOf({ bait: { root: blockOf(0x55, Buffer.from('below')).cid, blocks: [], size: 5 } })
      expect(bait.blocks[0]?.cid.toString()).not.toBe(record.cid)
      const car = await carOf([bait.root], bait.blocks)
      for (const visibility of ['public', 'private']) {
        const importing = engine.pins.importCar(streamOf(car), { account, token, adopts: 'share', visibility })
        await expect(importing).rejects.toMatchObject({ code: 'VALIDATION' })
      }
    })
  })
})

describe('an owner’s key with the four scopes of the contract', () => {
  test('stays the key of an owner', async () => {
    await withEngine(async ({ engine }) => {
      const { id } = await engine.accounts.create({ email: 'boss@example.org', plan: 'unlimited', role: 'owner' })
      const scopes = SCOPES.filter(scope => scope !== 'share:write')
      const { secret } = await engine.keys.create(id, { name: 'earlier', scopes })
      const headers = { authorization: `Bearer ${secret}` }
      const listing = await engine.api({
        method: 'GET',
        path: '/admin/v1/accounts',
        query: '',
        header: name => (name === 'authorization' ? headers.authorization : undefined),
        body: (async function* () {})(),
        signal: new AbortController().signal,
        remoteAddress: '127.0.0.1',
      })
      expect(listing.status).toBe(200)
      expect((await callApi(engine, 'PUT', '/users/me', { ...headers, body: '{"name":"Boss"}' })).status).toBe(200)
      const minted = { ...headers, body: JSON.stringify({ name: 'more', scopes: ['share:write'] }) }
      expect((await callApi(engine, 'POST', '/tokens/generate', minted)).json.code).toBe('missing_scope')
    })
  })
})
