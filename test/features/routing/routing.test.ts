import { base58btc } from 'multiformats/bases/base58'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { describe, expect, test } from 'vitest'
import { withDefaults } from '../../../src/config/config.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { silentMetrics } from '../../../src/domain/metrics.ts'
import { withRouter } from '../../../src/features/routing/delegated-router.ts'
import { gatewaySlots } from '../../../src/gateway/gateway.ts'
import type { ApiHandler, Engine } from '../../../src/index.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { withEngine } from '../../support/test-engine.ts'
import { threadReaders } from '../../support/thread-readers.ts'

const PUBLIC_URL = 'https://content.example.org'
const HTTP = '/dns/content.example.org/tcp/443/tls/http'
const HOST = 'content.example.org'
const OTHER = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
const served = { gateway: { publicUrl: PUBLIC_URL } }

interface Asked {
  method?: string
  host?: string
  accept?: string
}

async function ask(gateway: ApiHandler, target: string, { method = 'GET', host = 'localhost', accept }: Asked = {}) {
  const [path = '', query = ''] = target.split('?')
  const { status, headers, body } = await gateway({
    method,
    path,
    query,
    header: name => (name === 'host' ? host : name === 'accept' ? accept : undefined),
    body: (async function* () {})(),
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
  })
  const text = body === null ? '' : String(body)
  return { status, headers, text, json: () => JSON.parse(text) }
}

const JSON_TYPE = 'application/json'
const NDJSON = 'application/x-ndjson'
const STRANGER = '12D3KooWJbWdH4nHnZqbr7Zd8ocHuaGmQmQBLYAD5kGa3mkFqkYV'
const RSA = 'QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N'
/** A SHA-256 of 63 bytes, which no hash function gives. */
const LONG_DIGEST =
  'baeabep4vu3ceru7nerjjbk37sxb7wmftteve4hcosmyolsbsiubw2vr6pqzj6mw7kv6tbn6nqkkldnklbjgm5tzbi4hkpkled4xlcr7xz4bq'

/** Requests of boxo's tests of its server and its client: `own` is this node, `none` an empty list. */
const requests: ReadonlyArray<[target: string, accept: string | undefined, type: string, found: 'own' | 'none']> = [
  ['providers/CID', undefined, JSON_TYPE, 'own'],
  ['providers/CID', '*/*', JSON_TYPE, 'own'],
  ['providers/CID', 'text/html,*/*', JSON_TYPE, 'own'],
  ['providers/CID', JSON_TYPE, JSON_TYPE, 'own'],
  ['providers/CID', NDJSON, NDJSON, 'own'],
  ['providers/CID', `${NDJSON},${JSON_TYPE}`, NDJSON, 'own'],
  ['providers/CID', `${NDJSON}, ${JSON_TYPE};q=0.5`, NDJSON, 'own'],
  ['providers/CID?filter-protocols=unknown,transport-bitswap,transport-ipfs-gateway-http', NDJSON, NDJSON, 'own'],
  ['providers/CID?filter-protocols=transport-ipfs-gateway-http', JSON_TYPE, JSON_TYPE, 'own'],
  ['providers/CID?filter-protocols=transport-foo', JSON_TYPE, JSON_TYPE, 'none'],
  ['providers/CID?filter-addrs=webtransport,!p2p-circuit,unknown', JSON_TYPE, JSON_TYPE, 'none'],
  ['providers/CID?filter-addrs=webtransport,!p2p-circuit,unknown', NDJSON, NDJSON, 'none'],
  [`providers/${OTHER}`, undefined, JSON_TYPE, 'none'],
  [`providers/${OTHER}`, 'text/html,*/*', JSON_TYPE, 'none'],
  [`providers/${OTHER}`, NDJSON, NDJSON, 'none'],
  [`providers/${RSA}`, JSON_TYPE, JSON_TYPE, 'none'],
  [`providers/${LONG_DIGEST}`, JSON_TYPE, JSON_TYPE, 'none'],
  ['peers/PEER', JSON_TYPE, JSON_TYPE, 'own'],
  ['peers/PEER', NDJSON, NDJSON, 'own'],
  ['peers/PEER?filter-addrs=tls', JSON_TYPE, JSON_TYPE, 'own'],
  ['peers/PEER?filter-addrs=!tls', NDJSON, NDJSON, 'none'],
  ['peers/PEER?filter-protocols=transport-foo', JSON_TYPE, JSON_TYPE, 'none'],
  [`peers/${STRANGER}`, undefined, JSON_TYPE, 'none'],
  [`peers/${STRANGER}`, NDJSON, NDJSON, 'none'],
  [`peers/${RSA}`, JSON_TYPE, JSON_TYPE, 'none'],
  ['peers/bafzbeie5745rpv2m6tjyuugywy4d5ewrqgqqhfnf445he3omzpjbx5xqxe', 'text/html,*/*', JSON_TYPE, 'none'],
]

const neverCalled: ApiHandler = () => Promise.reject(new Error('only the router is asked'))

const providersOf = async ({ ownGateway }: Engine, cid: string) =>
  (await ask(ownGateway, `/routing/v1/providers/${cid}`)).json().Providers

async function upload(engine: Engine, account: string, text = 'routed'): Promise<string> {
  return (await engine.pins.upload(Buffer.from(text), { account })).record.cid
}

describe('the router at /routing/v1', () => {
  test('names this node for content that the gateway serves', async () => {
    await withEngine(async ({ engine, account }) => {
      const cid = await upload(engine, account)
      const [record, ...more] = await providersOf(engine, cid)
      expect(more).toEqual([])
      expect(record).toEqual({
        Schema: 'peer',
        ID: expect.stringMatching(/^12D3KooW/),
        Addrs: [HTTP],
        Protocols: ['transport-ipfs-gateway-http'],
      })
      expect(await providersOf(engine, OTHER)).toEqual([])
      const { status, headers } = await ask(engine.ownGateway, `/routing/v1/providers/${OTHER}`)
      expect({ status, ...headers }).toMatchObject({
        status: 200,
        'content-type': 'application/json',
        'cache-control': 'public, max-age=60',
        vary: 'Accept',
        'access-control-allow-origin': '*',
      })
    }, served)
  })

  test('answers the requests of boxo as its tests expect', async () => {
    await withEngine(async ({ engine, account }) => {
      const cid = await upload(engine, account)
      const [own] = await providersOf(engine, cid)
      for (const [target, accept, type, found] of requests) {
        const path = `/routing/v1/${target.replace('CID', cid).replace('PEER', own.ID)}`
        const { status, headers, text } = await ask(engine.ownGateway, path, accept === undefined ? {} : { accept })
        const key = target.startsWith('peers') ? 'Peers' : 'Providers'
        const list = found === 'own' ? [own] : []
        const body =
          type === NDJSON ? list.map(record => `${JSON.stringify(record)}\n`).join('') : JSON.stringify({ [key]: list })
        expect({ status, type: headers['content-type'], text }, `${target} ${accept}`).toEqual({
          status: 200,
          type,
          text: body,
        })
      }
    }, served)
  })

  test('forgets what is taken down, deleted or expired', async () => {
    await withEngine(async ({ engine, account, clock }) => {
      const [taken, deleted] = [await upload(engine, account, 'taken'), await upload(engine, account, 'deleted')]
      const timelock = new Date(clock.now() + 60_000).toISOString()
      const { record } = await engine.pins.upload(Buffer.from('ends'), { account, timelock })
      for (const cid of [taken, deleted, record.cid]) expect(await providersOf(engine, cid)).toHaveLength(1)
      await engine.takedowns.add({ cid: taken, reason: 'an order' })
      expect(await providersOf(engine, taken)).toEqual([])
      await engine.takedowns.remove({ cid: taken })
      expect(await providersOf(engine, taken)).toHaveLength(1)
      await engine.pins.remove(deleted, { account })
      expect(await providersOf(engine, deleted)).toEqual([])
      clock.advance(60_001)
      expect(await providersOf(engine, record.cid)).toEqual([])
    }, served)
  })

  test('names only CIDs that the allow list allows', async () => {
    const allowed = 'bafkreif5rqv65kgbwxpqlpofnqh2y3oh34bgiyfjalkmsk2zibatfmqnzy'
    const gateway = { ...served.gateway, mode: 'allow-list', allow: [allowed] } as const
    await withEngine(
      async ({ engine, account }) => {
        expect(await providersOf(engine, await upload(engine, account))).toEqual([])
      },
      { gateway },
    )
  })

  test('finds this node by its id, in each of its forms', async () => {
    await withEngine(async ({ engine, account }) => {
      const [{ ID: id }] = await providersOf(engine, await upload(engine, account))
      const key = CID.createV1(0x72, Digest.decode(base58btc.decode(`z${id}`)))
      for (const form of [id, key.toString(), key.toString(base58btc)]) {
        expect((await ask(engine.ownGateway, `/routing/v1/peers/${form}`)).json().Peers).toMatchObject([{ ID: id }])
      }
    }, served)
  })

  test('keeps its id over restarts, and when the network is turned on', async () => {
    await withEngine(async ({ engine, account, restart }) => {
      const cid = await upload(engine, account)
      const [{ ID: id }] = await providersOf(engine, cid)
      expect(await providersOf(await restart(), cid)).toMatchObject([{ ID: id }])
      const announce = ['/ip4/10.1.2.3/tcp/4001']
      const online = await restart({ network: { enabled: true, announce } })
      expect(await providersOf(online, cid)).toEqual([
        {
          Schema: 'peer',
          ID: id,
          Addrs: [...announce, HTTP],
          Protocols: ['transport-bitswap', 'transport-ipfs-gateway-http'],
        },
      ])
      expect((await online.addresses()).map(address => address.replace(/\/p2p\/.*/, ''))).toEqual([...announce, HTTP])
    }, served)
  })

  test('names no node that nobody could reach', async () => {
    for (const gateway of [{}, { publicUrl: `${PUBLIC_URL}/below` }]) {
      await withEngine(
        async ({ engine, account }) => {
          expect(await providersOf(engine, await upload(engine, account))).toEqual([])
        },
        { gateway, network: { enabled: true } },
      )
    }
  })

  test('refuses malformed CIDs and peers, and other routes', async () => {
    await withEngine(async ({ engine }) => {
      const status = async (target: string, asked?: Asked) => (await ask(engine.ownGateway, target, asked)).status
      for (const path of [
        'providers/nonsense',
        'providers/BAD_CID',
        'peers/nonpeerid',
        'peers/not-a-valid-cid-or-peerid',
      ]) {
        expect(await status(`/routing/v1/${path}`), path).toBe(400)
      }
      expect(await status(`/routing/v1/providers/b${'a'.repeat(40_000)}`)).toBe(400)
      expect(await status(`/routing/v1/providers/z${'2'.repeat(40_000)}`)).toBe(400)
      expect(await status(`/routing/v1/peers/1${'2'.repeat(40_000)}`)).toBe(400)
      expect(await status(`/routing/v1/peers/${OTHER}`)).toBe(400)
      for (const path of ['', 'ipns/k51', 'dht/closest/peers/k51', 'providers', 'providers/', `providers/${OTHER}/x`]) {
        expect(await status(`/routing/v1/${path}`), path).toBe(404)
      }
      expect(await status(`/routing/v1/providers/${OTHER}`, { method: 'PUT' })).toBe(405)
      expect(await status(`/routing/v1/providers/${OTHER}`, { method: 'HEAD' })).toBe(200)
      expect(await status(`/routing/v1/providers/${OTHER}`, { method: 'OPTIONS' })).toBe(204)
    }, served)
  })

  test('answers an identity CID and a codec that the node cannot walk', async () => {
    await withEngine(async ({ engine }) => {
      expect(await providersOf(engine, 'bafkqaaa')).toHaveLength(1)
      expect(await providersOf(engine, 'bagcqcera5zpr6apdvsc2bzzpqwyccpmo5dhpnc4pd6qkkh7t6okvhnaunoyq')).toEqual([])
    }, served)
  })

  test('is on the origin of the gateway only, unless it is off', async () => {
    const gateway = { ...served.gateway, host: HOST }
    const path = `/routing/v1/providers/${OTHER}`
    await withEngine(
      async ({ engine }) => {
        expect((await ask(engine.ownGateway, path, { host: HOST })).status).toBe(200)
        expect((await ask(engine.ownGateway, path, { host: `bafkqaaa.ipfs.${HOST}` })).status).not.toBe(200)
        expect((await ask(engine.gateway, path)).status).toBe(404)
        expect((await ask(engine.api, path)).status).toBe(404)
      },
      { gateway },
    )
    await withEngine(
      async ({ engine }) => {
        expect((await ask(engine.ownGateway, path)).status).toBe(404)
      },
      { gateway: { ...gateway, routing: false } },
    )
  })

  test('waits for a slot of the gateway', async () => {
    const clock = new ManualClock()
    const options = withDefaults({ gateway: { maxConcurrentRequests: 1 } }).gateway
    const slots = gatewaySlots(options, clock)
    const nothing = async () => null
    const parts = { served: nothing, ask: nothing, options, logger: silentLogger, metrics: silentMetrics }
    const router = withRouter(neverCalled, { ...parts, slots, clock })
    const reader = await slots.enter('another reader', new AbortController().signal)
    const asked = ask(router, `/routing/v1/providers/${OTHER}`)
    await expect.poll(() => clock.waiting).toBe(2)
    clock.advance(15_000)
    expect((await asked).status).toBe(503)
    reader.leave()
    expect((await ask(router, `/routing/v1/providers/${OTHER}`)).status).toBe(200)
  })

  test('is the same from each thread that reads', async () => {
    await withEngine(async ({ engine, account }) => {
      const cid = await upload(engine, account)
      const readers = await threadReaders(engine)
      try {
        const all = async () =>
          (await readers.getFromAll(`/routing/v1/providers/${cid}`)).map(({ text }) => JSON.parse(text).Providers)
        const expected = await providersOf(engine, cid)
        expect(expected).toHaveLength(1)
        expect(await all()).toEqual([expected, expected])
        await engine.pins.remove(cid, { account })
        expect(await all()).toEqual([[], []])
      } finally {
        await readers.stop()
      }
    }, served)
  })
})
