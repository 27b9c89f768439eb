import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { chargeWork, currentOwner, underName } from '../../../src/concurrency/work.ts'
import type { LiveContent } from '../../../src/content/live-content.ts'
import { HoldfastError } from '../../../src/domain/errors.ts'
import { PinnedContent } from '../../../src/gateway/source/pinned-content.ts'
import type { DirectoryEntry } from '../../../src/index.ts'
import type { BlockFetcher } from '../../../src/network/block-fetcher.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { withEngine } from '../../support/test-engine.ts'
import { apiRequest, directClient, socketClient } from '../client.ts'
import { GatewayWorld } from '../world.ts'

const MIB = 1024 ** 2
let world: GatewayWorld
let elsewhere: GatewayWorld

beforeEach(async () => {
  world = await GatewayWorld.open()
  elsewhere = await GatewayWorld.open()
})

afterEach(async () => {
  await world.close()
  await elsewhere.close()
})

/** A network with one other node, `elsewhere`. `delay` delays its answers. */
function network(delay: (cid: CID, signal: AbortSignal) => Promise<void> = async () => {}) {
  const state = { open: 0, asked: 0 }
  const fetcher: BlockFetcher = {
    canAsk: () => true,
    usable: () => [],
    async open() {
      state.open++
      return {
        async get(cid, { signal }) {
          state.asked++
          await delay(cid, signal)
          try {
            return await elsewhere.read(cid)
          } catch (cause) {
            throw new HoldfastError('CID_NOT_FOUND', `${cid} is with nobody`, { cause })
          }
        },
        providers: () => [],
        close: () => {
          state.open--
        },
      }
    },
  }
  return { state, fetcher }
}

test('the mode open serves network content and stores nothing', async () => {
  const bytes = pseudoRandom(3 * MIB)
  const tree = await elsewhere.addDirectory({ sub: { 'big.bin': bytes, 'small.txt': 'small' } })
  const { fetcher, state } = network()
  const { request } = directClient(world.gateway({ mode: 'open' }, { fetcher }))
  expect((await request('GET', `/ipfs/${tree}/sub/small.txt`)).text).toBe('small')
  expect((await request('GET', `/ipfs/${tree}/sub/big.bin`)).body.equals(bytes)).toBe(true)
  const asked = state.asked
  const range = await request('GET', `/ipfs/${tree}/sub/big.bin`, { range: `bytes=${MIB}-${MIB + 9}` })
  expect(range.body.equals(bytes.subarray(MIB, MIB + 10))).toBe(true)
  expect(state.asked - asked).toBe(1)
  expect((await request('GET', `/ipfs/${tree}/sub/`)).text).toContain('small.txt')
  expect((await request('GET', `/ipfs/${tree}/`, { 'cache-control': 'only-if-cached' })).status).toBe(412)
  expect(state.open).toBe(0)
  // The other modes do not use the network.
  expect((await directClient(world.gateway({}, { fetcher })).request('GET', `/ipfs/${tree}/`)).status).toBe(404)
})

test('the mode open tells types of network content as of pinned content', async () => {
  const tree = {
    about: '<!doctype html>',
    'index.php': '<?php echo 1',
    photo: Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'),
    'old.txt': Buffer.from([0xcf, 0xf0]),
    'long.txt': Buffer.alloc(3 * MIB, 'long'),
  }
  const root = await elsewhere.addDirectory(tree)
  const pinned = directClient(elsewhere.gateway())
  const open = directClient(world.gateway({ mode: 'open' }, network()))
  for (const name of Object.keys(tree)) {
    for (const headers of [{}, { range: 'bytes=1-1' }, { range: 'bytes=-1' }]) {
      const [answer, expected] = [open, pinned].map(({ request }) => request('GET', `/ipfs/${root}/${name}`, headers))
      for (const header of ['content-type', 'etag', 'cache-control', 'content-security-policy']) {
        expect((await answer)?.header(header), `${name} ${header}`).toBe((await expected)?.header(header))
      }
    }
  }
})

test('content below a root of the network is never one of records', async () => {
  const tree = { sub: { 'secret.txt': 'once pinned' } }
  const root = await elsewhere.addDirectory(tree)
  const sub = await elsewhere.addDirectory(tree.sub)
  const pinned = await world.addDirectory(tree.sub)
  expect(pinned.equals(sub)).toBe(true)
  const { fetcher } = network(async cid => {
    if (!cid.equals(root)) throw new HoldfastError('CID_NOT_FOUND', `${cid} is with nobody`)
  })
  const { request } = directClient(world.gateway({ mode: 'open' }, { fetcher }))
  expect((await request('GET', `/ipfs/${sub}/secret.txt`)).text).toBe('once pinned')
  await world.drop(pinned)
  expect((await request('GET', `/ipfs/${sub}/secret.txt`)).status).toBe(404)
  expect((await request('GET', `/ipfs/${root}/`)).text).toContain('sub')
  expect((await request('GET', `/ipfs/${root}/sub/secret.txt`)).status).toBe(404)
})

test('content of no provider is 404, and late content is 503', async () => {
  const nobody = CID.createV1(0x55, await sha256.digest(Buffer.from('nobody')))
  const slow = await elsewhere.addFile('slow')
  const { fetcher, state } = network((cid, signal) =>
    cid.equals(slow)
      ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
      : Promise.resolve(),
  )
  const gateway = world.gateway({ mode: 'open', retrievalTimeoutSeconds: 5 }, { fetcher })
  expect((await gateway(apiRequest('GET', `/ipfs/${nobody}`))).status).toBe(404)
  const pending = gateway(apiRequest('GET', `/ipfs/${slow}`))
  while (world.clock.waiting === 0) await new Promise(resolve => setImmediate(resolve))
  world.clock.advance(5000)
  const answer = await pending
  expect(answer.status).toBe(503)
  expect(answer.headers['retry-after']).toBe('30')
  expect(String(answer.body)).toContain('within 5 s')
  // A disconnected client ends the search.
  const client = new AbortController()
  const gone = gateway(apiRequest('GET', `/ipfs/${slow}`, {}, client.signal))
  while (world.clock.waiting === 0) await new Promise(resolve => setImmediate(resolve))
  client.abort()
  await gone
  expect(world.clock.waiting).toBe(0)
  expect(state.open).toBe(0)
})

test('content that is being fetched is 503 with its progress', async () => {
  const cid = await elsewhere.addFile('coming')
  const arrivalOf = (asked: CID) => (asked.equals(cid) ? { blocks: 7, bytes: 1234 } : null)
  const { request } = directClient(world.gateway({}, { arrivalOf }))
  const answer = await request('GET', `/ipfs/${cid}`)
  expect(answer.status).toBe(503)
  expect(answer.header('retry-after')).toBe('10')
  expect(JSON.parse(answer.text)).toMatchObject({ code: 'UNAVAILABLE', blocks: 7, bytes: 1234 })
  expect((await request('GET', `/ipfs/${cid}`, { 'cache-control': 'only-if-cached' })).status).toBe(412)
})

test("an engine's gateway serves its uploads by its configuration", () =>
  withEngine(
    async ({ engine, account, clock, restart }) => {
      const bytes = pseudoRandom(2 * MIB + 3)
      const { record } = await engine.pins.upload(bytes, { account, timelock: '2030-01-01T01:00:00Z' })
      const { request } = directClient(engine.gateway)
      expect((await request('GET', `/ipfs/${record.cid}`)).body.equals(bytes)).toBe(true)
      clock.advance(3_599_999)
      expect((await request('GET', `/ipfs/${record.cid}`)).status).toBe(200)
      const kept = await engine.pins.upload(Buffer.from('kept'), { account })
      const listed = await restart({ gateway: { mode: 'allow-list', allow: [record.cid] } })
      expect((await directClient(listed.gateway).request('GET', `/ipfs/${record.cid}`)).status).toBe(200)
      expect((await directClient(listed.gateway).request('GET', `/ipfs/${kept.record.cid}`)).status).toBe(404)
      clock.advance(1)
      expect((await directClient(listed.gateway).request('GET', `/ipfs/${record.cid}`)).status).toBe(404)
      await expect(restart({ gateway: { mode: 'open' } })).rejects.toThrow(/gateway.mode: open/)
    },
    { plans: {} },
  ))

test('an engine with a gateway host gives each root its host name', () =>
  withEngine(
    async ({ engine, account }) => {
      const files = { 'index.html': 'site', 'api/v3/users/me': 'not the API', _redirects: '/* /index.html 200' }
      const { record } = await engine.pins.uploadDirectory(entriesOf(files), { account })
      const server = await socketClient(engine.gateway, engine.api)
      try {
        const own = { host: `${record.cid}.ipfs.sites.test` }
        expect((await server.request('GET', '/', own)).text).toBe('site')
        expect((await server.request('GET', '/api/v3/users/me', own)).text).toBe('not the API')
        expect((await server.request('GET', '/some/page', own)).text).toBe('site')
        expect((await server.request('GET', '/api/v3/users/me', { host: 'sites.test' })).status).toBe(401)
        const path = await server.request('GET', `/ipfs/${record.cid}/`, { host: 'sites.test' })
        expect(path.header('location')).toBe(`http://${record.cid}.ipfs.sites.test/`)
      } finally {
        await server.close()
      }
    },
    { gateway: { host: 'sites.test' } },
  ))

async function* entriesOf(files: Record<string, string>): AsyncGenerator<DirectoryEntry> {
  for (const [path, text] of Object.entries(files)) yield { kind: 'file', path, content: Buffer.from(text) }
}

test('a crowd of one owner does not delay the reads of another', async () => {
  const cid = CID.createV1(0x55, await sha256.digest(Buffer.from('block')))
  const reads: { owner: string; end: () => void }[] = []
  const lease = () => ({
    source: {
      read: () =>
        new Promise<Uint8Array>(resolve =>
          reads.push({ owner: currentOwner(), end: () => resolve(new Uint8Array(1)) }),
        ),
    },
    isLocal: true,
    sizeOf: () => null,
    liveUntil: null,
    release: () => undefined,
  })
  const content = new PinnedContent({ lease } as unknown as LiveContent)
  const read = (owner: string) =>
    underName('answer', () => {
      chargeWork(owner)
      return content.open(cid, new AbortController().signal)?.get(cid)
    })
  const answers = [...Array.from({ length: 30 }, () => read('crowd')), read('other')]
  for (let ended = 0; ended < answers.length; ended++) {
    await new Promise(resolve => setImmediate(resolve))
    reads[ended]?.end()
  }
  await Promise.all(answers)
  expect(reads).toHaveLength(31)
  expect(reads.findIndex(({ owner }) => owner === 'other')).toBeLessThan(10)
})
