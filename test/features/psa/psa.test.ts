import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SpecData, Validator } from '@seriousme/openapi-schema-validator'
import { Compile } from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { documentPath } from '../../../src/contract/openapi/openapi-document.ts'
import { psaRoutes } from '../../../src/features/psa/psa-pins.ts'
import { createEngine, type Engine, HoldfastError, SCOPES, type Scope } from '../../../src/index.ts'
import { CODEC } from '../../../src/ipld/cid.ts'
import { hosts } from '../../contract/hosts.ts'
import { type Answer, type AuditClient, expectStatus, json } from '../../contract/world.ts'
import { identityBlock } from '../../pins/fetches/support/dags.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { newDirectory } from '../../support/new-database.ts'

const ABSENT = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'

interface Service {
  engine: Engine
  clock: ManualClock
  /** Creates an account with a key of these scopes. */
  user(scopes?: readonly Scope[]): Promise<User>
}

interface User {
  id: string
  call(method: string, path: string, body?: unknown): Promise<Answer>
}

/** Rules of the pinning service specification, each tested on every host. */
const RULES: ReadonlyArray<[rule: string, run: (service: Service) => Promise<void>]> = [
  [
    'MUST answer a pin with 202, status, id, time and delegates',
    async ({ user, clock }) => {
      const { call } = await user()
      const peer = '12D3KooWHRjUCPYT19SLk17K2o6BXHTNBPaWS2uEPcpKJNmDbJXp'
      const origins = [`/ip4/127.0.0.1/tcp/4001/p2p/${peer}`, `/ip4/192.168.1.2/tcp/4001/p2p/${peer}`]
      const pin = { cid: ABSENT, name: 'a name', meta: { app: 'x' }, origins }
      const { json: made } = await expectStatus(call('POST', '/pins', pin), 202)
      expect(made).toEqual({
        ...{
          requestid: expect.stringMatching(/^\S+$/),
          status: 'queued',
          created: new Date(clock.now()).toISOString(),
        },
        ...{ pin: { cid: ABSENT, name: 'a name', meta: { app: 'x' } }, info: { visibility: 'public' } },
        delegates: expect.arrayContaining([expect.stringMatching(/^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/p2p\/\w+$/)]),
      })
      const { json: one } = await expectStatus(call('GET', `/pins/${made.requestid}`), 200)
      assert.equal(one.requestid, made.requestid)
      assert.ok(['queued', 'pinning', 'failed'].includes(one.status))
    },
  ],
  [
    'MUST treat an id with U+0000 as unknown, and name such a field',
    async ({ user }) => {
      const { call } = await user()
      for (const method of ['GET', 'DELETE']) await expectStatus(call(method, '/pins/%00'), 404)
      await expectStatus(call('POST', '/pins/%00', { cid: ABSENT }), 404)
      const { json: refused } = await expectStatus(call('POST', '/pins', { cid: ABSENT, meta: { a: '\u0000' } }), 400)
      assert.match(refused.error.details, /meta\.a/)
    },
  ],
  [
    'MUST create a pin for each request, also repeated or stored ones',
    async ({ engine, user }) => {
      const { id, call } = await user()
      const { cid } = (await engine.pins.upload('is here', { account: id, name: 'uploaded' })).record
      const ids = new Set<string>()
      for (const _ of [1, 2, 3]) {
        const { json: made } = await expectStatus(call('POST', '/pins', { cid }), 202)
        assert.equal(made.status, 'queued')
        assert.equal((await call('GET', `/pins/${made.requestid}`)).json.status, 'pinned')
        ids.add(made.requestid)
      }
      assert.equal(ids.size, 3)
      assert.equal((await call('GET', `/pins?cid=${cid}&status=pinned`)).json.count, 4)
      expectError(await call('POST', '/pins', { cid, origins: ['nonsense'] }), 400, 'VALIDATION')
      const [old] = ids
      const { json: replaced } = await expectStatus(call('POST', `/pins/${old}`, { cid, name: 'new' }), 202)
      assert.equal((await call('GET', `/pins/${replaced.requestid}`)).json.status, 'pinned')
      await expectStatus(call('GET', `/pins/${old}`), 404)
    },
  ],
  [
    'MUST list pinned ones by default, filter, and count all matches',
    async ({ engine, user, clock }) => {
      const { id, call } = await user()
      for (const name of ['Cats', 'dogs', 'Category']) {
        clock.advance(1_000)
        await engine.pins.upload(name, { account: id, name, meta: { of: name, all: 'yes' } })
      }
      const waiting = (await expectStatus(call('POST', '/pins', { cid: ABSENT, name: 'absent' }), 202)).json
      const names = async (query: string): Promise<string[]> => {
        const { json: found } = await expectStatus(call('GET', `/pins?${query}`), 200)
        assert.equal(found.count, found.results.length)
        return found.results.map(({ pin }: { pin: { name: string } }) => pin.name)
      }
      expect(await names('')).toEqual(['Category', 'dogs', 'Cats'])
      expect(await names('status=queued,pinning,failed')).toEqual(['absent'])
      expect(await names('status=queued,pinning,pinned,failed')).toHaveLength(4)
      expect(await names('name=cats')).toEqual([])
      expect(await names('name=cats&match=iexact')).toEqual(['Cats'])
      expect(await names('name=Cat&match=partial')).toEqual(['Category', 'Cats'])
      expect(await names('name=CAT&match=ipartial')).toEqual(['Category', 'Cats'])
      expect(await names(`meta=${encodeURIComponent('{"of":"dogs","all":"yes"}')}`)).toEqual(['dogs'])
      expect(await names(`cid=${ABSENT}&status=queued,pinning,failed`)).toEqual(['absent'])
      expect(await names(`cid=${ABSENT}`)).toEqual(['absent'])
      expect(await names('name=ABSENT&match=iexact')).toEqual(['absent'])
      expect(await names(`cid=${ABSENT}&status=pinned`)).toEqual([])
      await expectStatus(call('DELETE', `/pins/${waiting.requestid}`), 202)
      const { json: limited } = await expectStatus(call('GET', '/pins?limit=1'), 200)
      expect([limited.count, limited.results.length]).toEqual([3, 1])
    },
  ],
  [
    'MUST page by before and after without gaps at equal times',
    async ({ engine, user, clock }) => {
      const { id, call } = await user()
      const made: string[] = []
      for (let index = 0; index < 12; index++) {
        if (![3, 4, 7, 8, 9, 10].includes(index)) clock.advance(1_000)
        made.push((await engine.pins.upload(`page ${index}`, { account: id, name: `${index}` })).record.uploadId)
      }
      const walked: string[] = []
      for (let query = 'limit=3', pages = 0; pages < 12; pages++) {
        const { json: page } = await expectStatus(call('GET', `/pins?${query}`), 200)
        walked.push(...page.results.map(({ requestid }: { requestid: string }) => requestid))
        if (page.count === page.results.length) break
        query = `limit=3&before=${encodeURIComponent(page.results.at(-1).created)}`
      }
      expect(walked.toSorted()).toEqual(made.toSorted())
      const { json: newest } = await expectStatus(call('GET', '/pins?limit=1'), 200)
      const after = encodeURIComponent(newest.results[0].created)
      expect((await call('GET', `/pins?after=${after}`)).json).toEqual({ count: 0, results: [] })
    },
  ],
  [
    'MUST replace a pin by one with a new id',
    async ({ user }) => {
      const { call } = await user()
      const { json: old } = await expectStatus(call('POST', '/pins', { cid: ABSENT, name: 'old' }), 202)
      const { json: made } = await expectStatus(
        call('POST', `/pins/${old.requestid}`, { cid: ABSENT, name: 'new' }),
        202,
      )
      expect([made.pin.name, made.requestid === old.requestid]).toEqual(['new', false])
      await expectStatus(call('GET', `/pins/${old.requestid}`), 404)
      await expectStatus(call('POST', `/pins/${old.requestid}`, { cid: ABSENT }), 404)
    },
  ],
  [
    'MUST remove a pin by its id with 202, and no other',
    async ({ user }) => {
      const { call } = await user()
      const [first, second] = [
        await call('POST', '/pins', { cid: ABSENT }),
        await call('POST', '/pins', { cid: ABSENT }),
      ]
      const removed = await expectStatus(call('DELETE', `/pins/${first?.json.requestid}`), 202)
      assert.equal(removed.body.length, 0)
      await expectStatus(call('DELETE', `/pins/${first?.json.requestid}`), 404)
      await expectStatus(call('GET', `/pins/${second?.json.requestid}`), 200)
    },
  ],
  [
    'MUST hide the pins of others, and require the scopes',
    async ({ user }) => {
      const [one, two] = [await user(), await user()]
      const { requestid } = (await expectStatus(one.call('POST', '/pins', { cid: ABSENT }), 202)).json
      for (const [method, body] of [['GET'], ['DELETE'], ['POST', { cid: ABSENT }]] as const) {
        expectError(await two.call(method, `/pins/${requestid}`, body), 404, 'NOT_FOUND')
      }
      const reader = await user(['files:read'])
      expectError(await reader.call('POST', '/pins', { cid: ABSENT }), 403, 'MISSING_SCOPE')
      const writer = await user(['files:read', 'files:write'])
      const { requestid: own } = (await expectStatus(writer.call('POST', '/pins', { cid: ABSENT }), 202)).json
      expectError(await writer.call('DELETE', `/pins/${own}`), 403, 'MISSING_SCOPE')
      expectError(await writer.call('POST', `/pins/${own}`, { cid: ABSENT }), 403, 'MISSING_SCOPE')
    },
  ],
  [
    "MUST report errors in the specification's shape, with a reason",
    async ({ user }) => {
      const { call } = await user()
      expectError(await call('POST', '/pins', {}), 400, 'VALIDATION')
      expectError(await call('POST', '/pins', { cid: 'nonsense' }), 400, 'INVALID_CID')
      const { cid: long } = identityBlock(CODEC.raw, Buffer.alloc(129))
      expectError(await call('POST', '/pins', { cid: `${long}` }), 400, 'INVALID_CID')
      expectError(await call('POST', '/pins', { cid: ABSENT, name: 'x'.repeat(256) }), 400, 'VALIDATION')
      expectError(await call('POST', '/pins', { cid: ABSENT, origins: ['nonsense'] }), 400, 'VALIDATION')
      expectError(
        await call('POST', '/pins', { cid: ABSENT, origins: Array(21).fill('/ip4/1.2.3.4') }),
        400,
        'VALIDATION',
      )
      expectError(await call('POST', '/pins', { cid: ABSENT, meta: { a: 1 } }), 400, 'VALIDATION')
      const wrong = [
        'limit=0',
        'limit=1001',
        'status=gone',
        'match=nearly',
        'before=now',
        'meta=[]',
        'cid=x',
        'limit=1&limit=2',
      ]
      for (const query of wrong) {
        const answer = await call('GET', `/pins?${query}`)
        assert.equal(answer.status, 400, query)
        assert.ok(answer.json.error.reason.length > 0 && answer.json.error.details.length > 0)
      }
      expectError(await call('GET', `/pins?cid=${Array(11).fill(ABSENT).join(',')}`), 400, 'VALIDATION')
      expectError(await call('GET', '/nothing'), 404, 'NOT_FOUND')
      expectError(await call('PUT', '/pins'), 405, 'METHOD_NOT_ALLOWED')
    },
  ],
]

function expectError(answer: Answer, status: number, reason: string): void {
  expect([answer.status, answer.json]).toEqual([status, { error: { reason, details: expect.stringMatching(/\S/) } }])
}

describe.each(hosts.map(host => ({ host, name: host.name })))('the pinning service API, $name', ({ host }) => {
  let dataDir: string
  let service: Service
  let client: AuditClient
  let close: () => Promise<void>

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'holdfast-psa-'))
    const clock = new ManualClock()
    const network = { enabled: true, listen: ['/ip4/127.0.0.1/tcp/0'], bootstrap: [] }
    const engine = await createEngine({ dataDir: newDirectory(dataDir), clock, network })
    const served = await host.serve(engine)
    client = served.client
    close = async () => {
      await served.close()
      await engine.stop()
    }
    let users = 0
    const user = async (scopes: readonly Scope[] = SCOPES): Promise<User> => {
      const { id } = await engine.accounts.create({ email: `user${++users}@example.org`, plan: 'unlimited' })
      const { secret } = await engine.keys.create(id, { name: 'main', scopes })
      const call: User['call'] = (method, path, body) => {
        const { headers = {}, ...rest } = body === undefined ? {} : json(body)
        return client.request(method, `/psa${path}`, {
          ...rest,
          headers: { ...headers, authorization: `Bearer ${secret}` },
        })
      }
      return { id, call }
    }
    service = { engine, clock, user }
  })
  afterAll(async () => {
    await close()
    await rm(dataDir, { recursive: true, force: true })
  })

  test.each(RULES)('%s', (_, run) => run(service))

  test('has a valid OpenAPI document with all requests, answers and errors', async () => {
    const { json: document } = await expectStatus(client.request('GET', '/psa/openapi.json'), 200)
    const outcome = await new Validator().validate(structuredClone(document) as SpecData)
    expect([outcome.valid, outcome.errors ?? []]).toEqual([true, []])
    const described = Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
    )
    expect(described.toSorted()).toEqual(
      psaRoutes.map(({ method, path }) => `${method} ${documentPath(path)}`).toSorted(),
    )
    const whole = (schema: object) => Compile({ ...schema, components: document.components } as never)
    const errorOf = whole(document.paths['/pins'].get.responses[401].content['application/json'].schema)
    const { json: refused } = await client.request('GET', '/psa/pins')
    expect([errorOf.Check(refused), errorOf.Check({ error: 'Unauthorized', code: 'x' })]).toEqual([true, false])
    const { json: list } = await expectStatus((await service.user()).call('GET', '/pins'), 200)
    expect(whole(document.paths['/pins'].get.responses[200].content['application/json'].schema).Check(list)).toBe(true)
    const contract = await client.request('GET', '/api/v3/openapi.json')
    expect(contract.json.info.description).toContain('/psa/openapi.json')
  })

  test('MUST refuse a request without a token', async () => {
    expectError(await client.request('GET', '/psa/pins'), 401, 'INVALID_API_KEY')
  })
})

test('a node without a network answers 501 and gives the reason', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-psa-'))
  const engine = await createEngine({ dataDir: newDirectory(dataDir) })
  const [host] = hosts
  try {
    const { id } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
    const { secret } = await engine.keys.create(id, { name: 'main', scopes: SCOPES })
    const { client } = (await host?.serve(engine)) ?? assert.fail()
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['GET', '/x'],
      ['POST', '/x'],
      ['DELETE', '/x'],
    ]) {
      const answer = await client.request(method ?? '', `/psa/pins${path}`, {
        headers: { authorization: `Bearer ${secret}` },
      })
      expectError(answer, 501, 'NOT_IMPLEMENTED')
      expect(answer.json.error.details).toContain('network.enabled')
    }
  } finally {
    await engine.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('a replacement whose old pin goes meanwhile leaves no pin', async () => {
  const gone = new HoldfastError('NOT_FOUND', 'the old pin is gone')
  const discarded: string[] = []
  const pins = {
    get: async () => undefined,
    pin: async () => ({ record: { uploadId: 'new' } }),
    discard: async ({ uploadId }: { uploadId: string }) => {
      discarded.push(uploadId)
      if (uploadId === 'old') throw gone
    },
  }
  const scopes = { check: () => undefined, adoption: () => undefined }
  const services = { pins, scopes, peers: { addresses: () => ['/ip4/192.0.2.1/tcp/4001'] } }
  const context = {
    principal: { account: { id: 'account' } },
    request: {
      signal: new AbortController().signal,
      header: (name: string) => (name === 'content-type' ? 'application/json' : undefined),
      body: [Buffer.from(JSON.stringify({ cid: ABSENT }))],
    },
    query: new URLSearchParams(),
    param: () => 'old',
  }
  const replace = psaRoutes.find(({ method, path }) => method === 'POST' && path.endsWith('/:requestid'))
  await expect(replace?.handler(context as never, services as never)).rejects.toBe(gone)
  expect(discarded).toEqual(['old', 'new'])
})
