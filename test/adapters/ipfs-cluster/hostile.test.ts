import * as dagCbor from '@ipld/dag-cbor'
import * as dagJson from '@ipld/dag-json'
import { CID } from 'multiformats/cid'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { describe, expect, test } from 'vitest'
import type { ClusterBackend, PinJob } from '../../../src/clusters/cluster-backend.ts'
import type { BlockSource } from '../../../src/content/block-source.ts'
import { CODEC, identityOf } from '../../../src/ipld/cid.ts'
import { Outside } from '../../clusters/backend.suite.ts'
import { refusalOf } from '../../clusters/refusal.ts'
import { until } from '../../clusters/remote-support.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import {
  endless,
  type Handler,
  json,
  MARK,
  refuse,
  rootInForm,
  type ScriptedApi,
  type ScriptedParts,
  withScripted,
} from './scripted-api.ts'

const ADDRESS = '/ip4/127.0.0.1/tcp/4001/p2p/12D3KooWPSbvi8eyPT1QQU5vLZ73HopiBsm4UNHgzYqeTYi7aVXK'

async function jobOf(content = pseudoRandom(100, 'content'), hold = 'one'): Promise<PinJob> {
  const source = new Outside()
  return { hold, root: await source.add(content), source, origins: [] }
}

const refusal = (done: Promise<unknown>): Promise<string> => refusalOf(done, 1_000)

const stateOf = async (backend: ClusterBackend, { root }: PinJob) => (await backend.status(identityOf(root))).state

const noAnswer = 'the IPFS Cluster sent an invalid answer'

describe('the backend of an IPFS Cluster', () => {
  test('does not trust an upload that no peer has', async () => {
    await withScripted(async ({ api, backend }) => {
      api.says = () => ({ status: 'pinning' })
      const job = await jobOf()
      expect(await refusal(backend.pin(job))).toContain('0 of 2 peers have it; 12D3KooWone is pinning')
      expect(api.count('POST /add')).toBe(1)
      expect(await stateOf(backend, job)).toBe('pinning')
      // The next attempt continues.
      api.says = () => ({ status: 'pinned' })
      await backend.pin(job)
      expect(api.count('POST /add')).toBe(1)
      expect(await stateOf(backend, job)).toBe('pinned')
    })
  })

  test('reports too few copies and the peers without one', async () => {
    await withScripted(async ({ api, backend }) => {
      const error = 'no route to host'
      api.says = peer => (peer.endsWith('one') ? { status: 'pinned' } : { status: 'cluster_error', error })
      const job = await jobOf()
      expect(await refusal(backend.pin(job))).toContain('1 of 2 peers have it; 12D3KooWtwo cluster_error: no route')
      expect(await backend.status(identityOf(job.root))).toEqual({
        state: 'failed',
        allocations: [
          { peer: '12D3KooWone', state: 'pinned', error: null },
          { peer: '12D3KooWtwo', state: 'failed', error: `cluster_error: ${error}` },
          { peer: '12D3KooWthree', state: 'failed', error: `cluster_error: ${error}` },
        ],
        isUncertain: true,
      })
    })
  })

  test('reports content as missing if unreachable peers cannot complete the copies', async () => {
    const run = async ({ api, backend }: ScriptedParts): Promise<void> => {
      api.says = () => ({ status: 'pinned' })
      const job = await jobOf()
      await backend.pin(job)
      const says = (others: string) => (peer: string) =>
        peer.endsWith('one') ? { status: 'cluster_error' } : { status: others }
      api.says = says('pin_error')
      expect((await backend.status(identityOf(job.root))).isUncertain).toBeUndefined()
      api.says = () => ({ status: 'cluster_error' })
      expect((await backend.status(identityOf(job.root))).isUncertain).toBe(true)
    }
    await withScripted(run)
    await withScripted(run, { replication: { min: -1, max: -1 } })
  })

  test('counts two peers on one IPFS node as one copy', async () => {
    await withScripted(async ({ api, backend }) => {
      api.says = peer =>
        peer.endsWith('three') ? { status: 'remote' } : { status: 'pinned', ipfs_peer_id: 'the same' }
      expect(await refusal(backend.pin(await jobOf()))).toContain('1 of 2 peers have it')
    })
  })

  test('checks a pin in progress every second', async () => {
    await withScripted(async ({ api, backend, clock }) => {
      const began = clock.now()
      api.says = () => ({ status: clock.now() - began < 10_000 ? 'pinning' : 'pinned' })
      await backend.pin(await jobOf())
      expect(clock.now() - began).toBeLessThan(11_000)
      expect(api.count('GET /pins')).toBeLessThan(20)
    })
  })

  test('waits for all peers if the replication is -1', async () => {
    const replication = { min: -1, max: -1 }
    const run = async ({ api, backend }: ScriptedParts): Promise<void> => {
      api.says = peer => ({ status: peer.endsWith('three') ? 'pin_queued' : 'pinned' })
      const job = await jobOf()
      expect(await refusal(backend.pin(job))).toContain('2 of 3 peers have it')
      api.says = () => ({ status: 'pinned' })
      await backend.pin(job)
      api.says = () => null
      expect(await stateOf(backend, job)).not.toBe('pinned')
    }
    await withScripted(run, { replication })
    // Uses the replication of the cluster.
    await withScripted(run, { replication: null })
  })

  test.each(['pin_error', 'unexpectedly_unpinned'])('tells peers with %s to retry, up to a maximum', async status => {
    await withScripted(async ({ api, backend }) => {
      api.says = () => ({ status, error: 'it went wrong' })
      const job = await jobOf()
      expect(await refusal(backend.pin(job))).toContain(`${status}: it went wrong`)
      expect(api.count('POST /pins//recover')).toBe(3)
      // Failed content is uploaded again.
      api.says = () => ({ status: api.count('POST /pins//recover') < 4 ? status : 'pinned' })
      await backend.pin(job)
      expect(api.count('POST /add')).toBe(2)
    })
  })

  test('neither trusts nor unpins a pin without its mark', async () => {
    await withScripted(async ({ api, backend }) => {
      const job = await jobOf()
      await backend.pin(job)
      for (const pin of api.pins.values()) pin.metadata = { 'hold one': '1', holdfast: 'holdfast:another' }
      expect(await backend.status(identityOf(job.root))).toEqual({ state: 'unpinned', allocations: [] })
      await backend.unpin('one', identityOf(job.root))
      for await (const pins of backend.pins()) expect(pins).toEqual([])
      expect(api.count('DELETE /pins/')).toBe(0)
      api.handlers = { 'POST /pins/': json({}) }
      expect(await refusal(backend.pin(job))).toContain('the pin is missing')
    })
  })

  test('leaves the pins of users and other nodes alone', async () => {
    await withScripted(async ({ api, backend }) => {
      const job = await jobOf()
      const theirs = {
        metadata: { holdfast: 'holdfast:another', root: `${job.root}`, 'hold one': '1' },
        name: 'theirs',
      }
      api.pins.set(`${job.root}`, { ...theirs, min: 1, max: 1, origins: [] })
      await backend.pin(job)
      expect(api.pins.size).toBe(2)
      // A pin with the right mark but the wrong block.
      api.pins.set('bafkqaaa', {
        ...theirs,
        metadata: { ...theirs.metadata, holdfast: MARK },
        min: 1,
        max: 1,
        origins: [],
      })
      const listed: string[] = []
      for await (const pins of backend.pins()) listed.push(...pins.map(({ hold, state }) => `${hold} ${state}`))
      expect(listed).toEqual(['one pinned'])
      await backend.unpin('one', identityOf(job.root))
      expect([...api.pins.keys()].sort()).toEqual([`${job.root}`, 'bafkqaaa'].sort())
    })
  })

  test('changes the replication of a pin without a new upload', async () => {
    await withScripted(async ({ api, backend }) => {
      const job = await jobOf()
      await backend.pin(job)
      for (const pin of api.pins.values()) pin.min = 1
      await backend.pin(job)
      expect([...api.pins.values()].map(({ min, max }) => [min, max])).toEqual([[2, 3]])
      expect(api.count('POST /add')).toBe(1)
    })
  })

  test('uploads lost content again, first to peers without it', async () => {
    await withScripted(async ({ api, backend }) => {
      const job = await jobOf()
      await backend.pin(job)
      await backend.pin(job)
      expect(api.count('POST /add')).toBe(1)
      api.says = peer => ({ status: peer.endsWith('one') ? 'remote' : 'pinned' })
      await backend.pin({ ...job, isRepair: true })
      const [, again] = api.requests.filter(({ url }) => url.pathname === '/add')
      expect(again?.url.searchParams.get('user-allocations')).toBe('12D3KooWtwo,12D3KooWthree')
    })
  })

  test('combines many status checks into few requests', async () => {
    await withScripted(async ({ api, backend }) => {
      const jobs = await Promise.all(Array.from({ length: 60 }, (_, i) => jobOf(Buffer.from(`content ${i}`))))
      await Promise.all(jobs.map(job => backend.status(identityOf(job.root))))
      expect(api.count('GET /pins')).toBe(2)
      const asked = api.requests.filter(({ url }) => url.pathname === '/pins')
      expect(asked.map(({ url }) => url.searchParams.get('cids')?.split(',').length)).toEqual([50, 10])
    })
  })

  test.each<[what: string, handlers: Record<string, Handler>, told: string]>([
    ['garbage for a pin', { 'GET /allocations/': refuse(200, '<html>') }, noAnswer],
    ['another shape of a pin', { 'GET /allocations/': json({ cid: 'x' }) }, noAnswer],
    ["another server's 404", { 'GET /allocations/': refuse(404, 'none') }, 'the IPFS Cluster answered 404'],
    ['garbage for peers', { 'GET /pins': refuse(200, '<html>') }, noAnswer],
    ['peers of another shape', { 'GET /pins': json({ cid: 'x', peer_map: { a: 1 } }) }, noAnswer],
    ['garbage for an upload', { 'POST /add': refuse(200, '<html>') }, noAnswer],
    ['nothing for an upload', { 'POST /add': json([]) }, noAnswer],
    ['another root for an upload', { 'POST /add': json([{ cid: 'bafkqaaa' }]) }, noAnswer],
    [
      'too few peers',
      { 'POST /add': refuse(500, { message: 'not enough\npeers' }) },
      'the IPFS Cluster answered 500: not enough peers',
    ],
    [
      'a long error',
      { 'POST /pins/': refuse(500, { message: 'x'.repeat(5_000) }) },
      `the IPFS Cluster answered 500: ${'x'.repeat(200)}`,
    ],
    ['an error page', { 'POST /pins/': refuse(502, '<html>') }, 'the IPFS Cluster answered 502'],
    [
      '401',
      { 'GET /allocations/': refuse(401, { message: 'unauthorized' }) },
      'the IPFS Cluster answered 401: unauthorized',
    ],
    [
      'an endless answer',
      { 'GET /pins': endless('x'.repeat(65_536)) },
      'the node of the cluster answered more than 4194304 bytes',
    ],
    [
      'an error after everything else',
      {
        'GET /pins': (_, response) => {
          response.writeHead(200, { trailer: 'X-Stream-Error' })
          response.write('{"cid":"bafkqaaa","peer_map":{}}\n')
          response.addTrailers({ 'X-Stream-Error': 'the disk is full' })
          response.end()
        },
      },
      'the IPFS Cluster broke off: the disk is full',
    ],
  ])('answers with %s is not believed', async (_, handlers, told) => {
    await withScripted(async ({ api, backend }) => {
      api.handlers = handlers
      expect(await refusal(backend.pin(await jobOf()))).toBe(told)
    })
  })

  test('does not take another server’s 404 for an unpin', async () => {
    await withScripted(async ({ api, backend }) => {
      const job = await jobOf()
      await backend.pin(job)
      api.handlers = { 'GET /allocations/': refuse(404, { code: 404, message: 'not found' }) }
      await refusal(backend.unpin('one', identityOf(job.root)))
      api.handlers = { 'DELETE /pins/': refuse(404, '') }
      await refusal(backend.unpin('one', identityOf(job.root)))
    })
  })

  test('leaves an endless list, and reports one that breaks off', async () => {
    const line = {
      type: 'pin',
      name: '',
      metadata: null,
      replication_factor_min: 1,
      replication_factor_max: 1,
      origins: null,
    }
    const all = async (backend: ClusterBackend): Promise<void> => {
      for await (const _ of backend.pins?.() ?? []);
    }
    await withScripted(async ({ api, backend }) => {
      api.handlers = { 'GET /allocations': endless('x'.repeat(65_536)) }
      expect(await refusal(all(backend))).toBe(noAnswer)
      await until('it is left', () => api.ended === 1)
      const broken: Handler = (_, response, request) =>
        void response.write(`${JSON.stringify({ ...line, cid: 'bafkqaaa' })}\n`, () => request.socket.end())
      api.handlers = { 'GET /allocations': broken }
      await refusal(all(backend))
      api.handlers = {
        'GET /allocations': (_, response) => {
          response.writeHead(200, { trailer: 'X-Stream-Error' })
          response.write(`${JSON.stringify({ ...line, cid: 'bafkqaaa' })}\n`)
          response.addTrailers({ 'X-Stream-Error': 'state closed' })
          response.end()
        },
      }
      expect(await refusal(all(backend))).toBe('the IPFS Cluster broke off: state closed')
    })
  })

  test('gives up a request without an answer and a stalled list', async () => {
    const clock = new ManualClock()
    await withScripted(
      async ({ api, backend }) => {
        api.handlers = { 'GET /allocations/': () => undefined, 'GET /allocations': () => undefined }
        const job = await jobOf()
        const pinning = refusal(backend.pin(job))
        await until('it is asked', () => api.count('GET /allocations/') === 1)
        clock.advance(60_000)
        expect(await pinning).toBe('the IPFS Cluster did not answer in time')
        const listing = refusal(backend.pins()[Symbol.asyncIterator]().next())
        await until('it is asked', () => api.count('GET /allocations') === 1)
        clock.advance(120_000)
        expect(await listing).toBe('the IPFS Cluster did not go on in time')
        expect(clock.waiting).toBe(0)
      },
      { clock },
    )
  })

  test('does not follow redirects with its credentials', async () => {
    await withScripted(async ({ api: elsewhere }) => {
      await withScripted(async ({ api, backend }) => {
        api.handlers = {
          'GET /allocations/': (_, response) => void response.writeHead(307, { location: elsewhere.base }).end(),
        }
        expect(await refusal(backend.pin(await jobOf()))).toBe('the IPFS Cluster answered 307')
        expect(new Set(api.keys).size).toBe(1)
        expect(elsewhere.asked).toEqual([])
      })
    })
  })

  test('requests no pin after a failed upload', async () => {
    await withScripted(async ({ api, backend }) => {
      const outside = new Outside()
      const root = await outside.add(pseudoRandom(2 * 1024 ** 2, 'half'))
      const failing: BlockSource = {
        read: async cid => {
          if (cid.equals(root)) return outside.read(cid)
          throw new Error('the disk')
        },
      }
      await expect(backend.pin({ ...(await jobOf()), root, source: failing })).rejects.toThrow('the disk')
      const controller = new AbortController()
      const stopping: BlockSource = {
        read: async cid => {
          if (!cid.equals(root)) controller.abort(new Error('enough'))
          return outside.read(cid)
        },
      }
      const stopped = backend.pin({ ...(await jobOf()), root, source: stopping, signal: controller.signal })
      await expect(stopped).rejects.toThrow('enough')
      expect(api.pins.size).toBe(0)
      expect(api.count('POST /pins/')).toBe(0)
    })
  })
})

/** Returns a job for a single block. */
async function single(codec: number, bytes: Uint8Array, hasher: typeof sha256 | typeof sha512): Promise<PinJob> {
  const root = CID.createV1(codec, await hasher.digest(bytes))
  return { hold: 'one', root, source: { read: async () => bytes }, origins: [] }
}

/** Returns a job with a second block above it. */
async function above(below: PinJob, hasher: typeof sha256 | typeof sha512): Promise<PinJob> {
  const bytes = dagCbor.encode({ below: below.root })
  const root = CID.createV1(CODEC.dagCbor, await hasher.digest(bytes))
  const source: BlockSource = {
    read: async cid => (cid.equals(root) ? bytes : ((await below.source?.read(cid)) ?? Buffer.of())),
  }
  return { ...below, root, source }
}

function pinAsked({ requests }: ScriptedApi): URLSearchParams | undefined {
  return requests.find(({ method, url }) => method === 'POST' && url.pathname.startsWith('/pins/'))?.url.searchParams
}

describe('an upload to an IPFS Cluster', () => {
  test.each([
    ['another codec', () => single(CODEC.dagJson, dagJson.encode({ a: 1 }), sha256), 'codec 0x129'],
    [
      'another codec below',
      async () => above(await single(CODEC.dagJson, dagJson.encode({ a: 1 }), sha256), sha256),
      'codec 0x129',
    ],
  ])('has only addresses of a DAG with %s', async (_, make, why) => {
    const job = await make()
    await withScripted(async ({ api, backend }) => {
      expect(await refusal(backend.pin(job))).toContain(why)
      expect(api.pins.size).toBe(0)
    })
    await withScripted(
      async ({ api, backend }) => {
        await backend.pin(job)
        expect(pinAsked(api)?.get('origins')).toBe(ADDRESS)
        // Only the mark block is uploaded.
        expect(api.count('POST /add')).toBe(2)
      },
      { addresses: [ADDRESS, '/ip4/127.0.0.1/tcp/4001'] },
    )
  })

  test('has SHA-512 blocks, but only the addresses of mixed hashes', async () => {
    await withScripted(async ({ api, backend }) => {
      const mixed = await above(await single(CODEC.raw, Buffer.from('leaf'), sha256), sha512)
      expect(await refusal(backend.pin(mixed))).toContain('has blocks of several hashes')
      await backend.pin(await single(CODEC.raw, Buffer.from('long'), sha512))
      expect(api.pins.size).toBe(1)
    })
  })

  test('has at most ten origins of content that this node lacks', async () => {
    await withScripted(async ({ api, backend }) => {
      const origins = [
        'https://gateway.example.org',
        ...Array.from({ length: 12 }, (_, i) => ADDRESS.replace('4001', `${i}`)),
      ]
      await backend.pin({ ...(await jobOf()), source: null, origins })
      expect(pinAsked(api)?.get('origins')?.split(',')).toEqual(origins.slice(1, 11))
    })
  })

  test('names no origin for peers that already have the blocks', async () => {
    await withScripted(async ({ api, backend }) => {
      await backend.pin(await jobOf())
      const asked = pinAsked(api)
      expect(asked?.get('user-allocations')).toBe('12D3KooWone,12D3KooWtwo,12D3KooWthree')
      expect([asked?.get('replication-min'), asked?.get('replication-max')]).toEqual(['2', '3'])
      expect(asked?.get('meta-holdfast')).toBe(MARK)
    })
  })
})

test('reports the free space and errors of peers', async () => {
  await withScripted(async ({ api, backend }) => {
    api.handlers = {
      'GET /peers': json(
        { id: 'a', error: '' },
        { id: 'b', error: '', ipfs: { error: 'no\nipfs' } },
        { id: 'c', error: 'away' },
      ),
      'GET /monitor/metrics/freespace': json([
        { peer: 'a', value: '12', valid: true },
        { peer: 'b', value: 'much', valid: true },
        { peer: 'c', value: '9', valid: false },
      ]),
    }
    expect(await backend.peers()).toEqual([
      { peer: 'a', freeBytes: 12, error: null },
      { peer: 'b', freeBytes: null, error: 'no ipfs' },
      { peer: 'c', freeBytes: null, error: 'away' },
    ])
  })
})

describe('small DAGs for an IPFS Cluster', () => {
  async function smallJob(text: string, codec: number = CODEC.raw): Promise<PinJob> {
    const bytes = codec === CODEC.raw ? Buffer.from(text) : dagJson.encode({ text })
    const cid = CID.createV1(codec, await sha256.digest(bytes))
    const source = { read: async () => bytes }
    return { hold: 'one', root: cid, source, origins: [] }
  }

  test('are uploaded together, and pinned and checked alone', async () => {
    await withScripted(async ({ api, backend }) => {
      const jobs = await Promise.all(Array.from({ length: 40 }, (_, i) => smallJob(`content ${i}`)))
      await Promise.all(jobs.map(job => backend.pin(job)))
      expect(api.count('POST /add')).toBeLessThan(20)
      expect(api.count('POST /pins/')).toBe(40)
      const sent = api.requests.filter(({ url }) => url.pathname === '/add').map(({ body }) => body.toString('latin1'))
      for (let i = 0; i < 40; i++) expect(sent.filter(body => body.includes(`content ${i}`)).length).toBeGreaterThan(0)
      for (const job of jobs) expect(await stateOf(backend, job)).toBe('pinned')
    })
  })

  test('do not fail because of one among them', async () => {
    await withScripted(async ({ api, backend }) => {
      api.handlers = {
        'POST /add': (asked, ...rest) =>
          asked.body.includes('content 7')
            ? refuse(500, { code: 500, message: 'no' })(asked, ...rest)
            : json([{ cid: rootInForm(asked.body), allocations: [] }])(asked, ...rest),
      }
      const jobs = await Promise.all(Array.from({ length: 10 }, (_, i) => smallJob(`content ${i}`)))
      const ended = await Promise.allSettled(jobs.map(job => backend.pin(job)))
      expect(ended.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))).toEqual([7])
    })
  })

  test('are uploaded alone if others cannot share the request', async () => {
    await withScripted(async ({ api, backend }) => {
      const [json, raw] = await Promise.all([smallJob('a', CODEC.dagJson), smallJob('b')])
      const [ended] = await Promise.allSettled([backend.pin(json), backend.pin(raw)])
      expect(ended).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } })
      expect([...api.pins.values()].map(({ metadata }) => metadata.root)).toEqual([raw.root.toString()])
    })
  })
})
